// Says no to a connection for which the store's server has no room, in clear: one over TLS has a session for that.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/store/wire.hpp"

namespace hocket::store {

inline std::string refusal(wire::Verdict verdict, std::string_view why) {
  return wire::encode_greeting(wire::server_magic, {.word = static_cast<std::uint16_t>(verdict), .text = why});
}

// Ends what is said to a new connection, without waiting for the other side. What has come from there is read first:
// with bytes unread, the end would overtake the words. Should they be lost even so, the client tries again.
inline void refuse(int socket, std::string_view words) {
  (void)::send(socket, words.data(), words.size(), MSG_NOSIGNAL | MSG_DONTWAIT);  // so few bytes always fit
  (void)::shutdown(socket, SHUT_WR);
  for (std::array<char, 256> unread; ::recv(socket, unread.data(), unread.size(), MSG_DONTWAIT) > 0;) {
  }
}

}  // namespace hocket::store
