// The frames that begin a connection, on its socket: what handshakes read and send.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "src/base/socket.hpp"
#include "transports/tcp/wire.hpp"

namespace hocket::tcp {

// Takes one frame, and what follows it, off a socket.
class HelloReader {
 public:
  enum class Filled { yes, not_yet, closed, error, malformed };

  // Reads what is missing, and not a byte more.
  Filled fill(Socket& socket);
  // Whether anything has come.
  bool began() const { return have_ > 0; }
  // After yes.
  const Hello& hello() const { return hello_; }
  std::string_view authentication() const { return {bytes_.data() + hello_bytes, hello_.authentication}; }
  // After malformed: what is wrong.
  const std::string& problem() const { return problem_; }

 private:
  std::array<char, hello_bytes + authentication_bytes_max> bytes_{};
  std::size_t have_ = 0;
  Hello hello_;
  std::string problem_;
};

// False: it could not be sent whole, though it always fits into a fresh connection's buffer.
bool send_hello(Socket& socket, Hello hello, std::string_view authentication = {});
// Tells why the other side is refused; if that cannot be sent, it finds out by the end of the connection.
void send_refusal(Socket& socket, const Hello& hello, Distrust why);
// The reason in a refusal, as this side sees it.
std::string refusal_in(std::string_view authentication);

// What both sides of a challenge know, from the hello with which it begins.
std::string context_of(const Hello& hello);

}  // namespace hocket::tcp
