#include "transports/tcp/hello_reader.hpp"

#include <cerrno>

namespace hocket::tcp {
namespace {

std::string bytes_of(const Hello& hello) {
  const HelloFrame frame = encode(hello);
  return {reinterpret_cast<const char*>(frame.data()), frame.size()};
}

}  // namespace

HelloReader::Filled HelloReader::fill(Socket& socket) {
  for (std::size_t wanted = hello_bytes;;) {
    if (have_ >= hello_bytes) {
      const auto parsed = parse_hello(std::as_bytes(std::span(bytes_)).first<hello_bytes>());
      if (!parsed) {
        problem_ = parsed.status().message();
        return Filled::malformed;
      }
      hello_ = *parsed;
      wanted += hello_.authentication;
      if (have_ == wanted) return Filled::yes;
    }
    const iovec missing{bytes_.data() + have_, wanted - have_};
    const ssize_t taken = socket.receive({&missing, 1});
    if (taken > 0) {
      have_ += static_cast<std::size_t>(taken);
      if (looks_like_tls({bytes_.data(), have_})) {
        problem_ = "it speaks TLS, and this rank does not: " + std::string(how_to_speak_tls);
        return Filled::malformed;
      }
    } else if (taken == 0) {
      return Filled::closed;
    } else if (errno != EINTR) {
      return errno == EAGAIN || errno == EWOULDBLOCK ? Filled::not_yet : Filled::error;
    }
    wanted = hello_bytes;
  }
}

bool send_hello(Socket& socket, Hello hello, std::string_view authentication) {
  hello.authentication = static_cast<std::uint16_t>(authentication.size());
  std::string bytes = bytes_of(hello).append(authentication);
  const iovec whole{bytes.data(), bytes.size()};
  return socket.send({&whole, 1}) == static_cast<ssize_t>(bytes.size());
}

void send_refusal(Socket& socket, const Hello& hello, Distrust why) {
  const char number = static_cast<char>(why);
  (void)send_hello(socket, {HelloKind::refusal, hello.group, hello.from, hello.to, hello.stream}, {&number, 1});
}

std::string refusal_in(std::string_view authentication) {
  const auto why = distrust_of(static_cast<unsigned char>(authentication.front()));
  return "it refused us: " + (why ? said_to_us(*why) : "it does not say why");
}

std::string context_of(const Hello& hello) {
  Hello first = hello;
  first.kind = HelloKind::hello;
  first.authentication = Challenge::nonce_bytes;
  return "tcp " + bytes_of(first);
}

}  // namespace hocket::tcp
