#include "tests/process/support/store_proxy.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <stdexcept>

namespace hocket::process_testing {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

UniqueFd new_socket() {
  return UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

}  // namespace

StoreProxy::StoreProxy(std::unique_ptr<StoreBackend> backend) : backend_(std::move(backend)), listener_(new_socket()) {
  sockaddr_in address = loopback(0);
  socklen_t bytes = sizeof address;
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_.get(), plain, bytes) != 0 || ::listen(listener_.get(), 64) != 0 ||
      ::getsockname(listener_.get(), plain, &bytes) != 0) {
    throw std::runtime_error("the proxy cannot listen");
  }
  port_ = ntohs(address.sin_port);
}

void StoreProxy::lose() {
  backend_->restart(loss_->signal);
  pairs_.clear();
  loses_now_ = false;
  lost_ = true;
}

bool StoreProxy::serve(const std::optional<Loss>& loss, const std::function<bool()>& done) {
  loss_ = loss;
  requests_ = 0;
  lost_ = false;
  while (!done()) {
    std::vector<pollfd> interests{{listener_.get(), POLLIN, 0}};
    for (const auto& pair : pairs_) {
      interests.push_back({pair->client.socket.get(), POLLIN, 0});
      interests.push_back({pair->server.socket.get(), POLLIN, 0});
    }
    (void)::poll(interests.data(), interests.size(), 5);
    for (std::size_t i = 1; i < interests.size() && !loses_now_; ++i) {
      auto& pair = pairs_[(i - 1) / 2];
      if (pair && interests[i].revents != 0 && !pass_on(*pair, i % 2 == 1)) pair.reset();
    }
    std::erase(pairs_, nullptr);
    if (interests[0].revents != 0 && !loses_now_) accept();
    if (loses_now_) lose();
  }
  pairs_.clear();
  return lost_;
}

void StoreProxy::accept() {
  auto pair = std::make_unique<Pair>();
  pair->client.socket = UniqueFd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  pair->server.socket = new_socket();
  const sockaddr_in address = loopback(backend_->port());
  if (::connect(pair->server.socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    pairs_.push_back(std::move(pair));
  }
}

bool StoreProxy::pass_on(Pair& pair, bool from_client) {
  Side& from = from_client ? pair.client : pair.server;
  const Side& to = from_client ? pair.server : pair.client;
  char block[65536];
  const ssize_t got = ::recv(from.socket.get(), block, sizeof block, MSG_DONTWAIT);
  if (got <= 0) return got < 0 && errno == EAGAIN;
  from.received.append(block, static_cast<std::size_t>(got));
  for (;;) {
    const auto piece = backend_->first_piece(from.received, from_client, from.begins);
    if (!piece || !take(pair, *piece)) return true;
    if (!send_all(to.socket.get(), from.received.substr(0, piece->bytes))) return false;
    from.received.erase(0, piece->bytes);
    from.begins = false;
  }
}

// False: the server is lost before this is passed on.
bool StoreProxy::take(Pair& pair, const StoreBackend::Piece& piece) {
  if (piece.answer) loses_now_ = pair.last_answer == piece.answer;
  if (!piece.request || !loss_ || lost_ || requests_++ != loss_->request) return !loses_now_;
  if (loss_->moment == Moment::answer) {
    pair.last_answer = piece.request;
  } else {
    loses_now_ = true;
  }
  return !loses_now_;
}

}  // namespace hocket::process_testing
