#include "src/store/turned_away.hpp"

#include <chrono>
#include <utility>

#include "src/store/refusal.hpp"

namespace hocket::store {
namespace {

constexpr std::size_t sessions_max = 8;
constexpr std::chrono::seconds session_time{1};

}  // namespace

// Over TLS the words have to wait for the handshake: a session says them.
void TurnedAway::tell(asio::ip::tcp::socket socket, ClientId id, wire::Verdict verdict, const std::string& why) {
  if (!trust_.tls) return refuse(socket.native_handle(), refusal(verdict, why));
  if (sessions_.size() == sessions_max) return;
  const auto session = std::make_shared<Session>(listener_, id, std::move(socket), trust_,
                                                 Welcome::Answer{.verdict = verdict, .text = why, .problem = why});
  sessions_.emplace(id, session);
  session->start(session_time);
}

void TurnedAway::close_oldest() {
  if (sessions_.empty()) return;
  const auto oldest = sessions_.begin()->second;  // which its end takes out of the list
  oldest->close();
}

void TurnedAway::close_all() {
  while (!sessions_.empty()) close_oldest();
}

}  // namespace hocket::store
