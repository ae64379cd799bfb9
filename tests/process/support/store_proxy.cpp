#include "tests/process/support/store_proxy.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <stdexcept>

#include "src/store/wire.hpp"

namespace hocket::process_testing {
namespace {

namespace wire = store::wire;

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

StoreProxy::StoreProxy(std::vector<std::string> daemon_options)
    : options_(std::move(daemon_options)), listener_(new_socket()) {
  start();
  sockaddr_in address = loopback(0);
  socklen_t bytes = sizeof address;
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_.get(), plain, bytes) != 0 || ::listen(listener_.get(), 64) != 0 ||
      ::getsockname(listener_.get(), plain, &bytes) != 0) {
    throw std::runtime_error("the proxy cannot listen");
  }
  port_ = ntohs(address.sin_port);
}

void StoreProxy::start() {
  auto options = options_;
  options.insert(options.end(), {"--port", std::to_string(daemon_port_)});
  daemon_ = std::make_unique<Daemon>(options);
  daemon_port_ = daemon_->port();
}

void StoreProxy::lose() {
  daemon_->signal(loss_->signal);
  (void)daemon_->wait();
  pairs_.clear();
  start();
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
      interests.push_back({pair->daemon.socket.get(), POLLIN, 0});
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
  pair->daemon.socket = new_socket();
  const sockaddr_in address = loopback(daemon_port_);
  if (::connect(pair->daemon.socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    pairs_.push_back(std::move(pair));
  }
}

bool StoreProxy::pass_on(Pair& pair, bool from_client) {
  Side& from = from_client ? pair.client : pair.daemon;
  const Side& to = from_client ? pair.daemon : pair.client;
  char block[65536];
  const ssize_t got = ::recv(from.socket.get(), block, sizeof block, MSG_DONTWAIT);
  if (got <= 0) return got < 0 && errno == EAGAIN;
  from.received.append(block, static_cast<std::size_t>(got));
  if (!from.greeted) {
    const auto greeting =
        wire::parse_greeting(from.received, from_client ? wire::client_magic : wire::server_magic).value();
    if (!greeting) return true;
    if (!send_all(to.socket.get(), from.received.substr(0, greeting->size()))) return false;
    from.received.erase(0, greeting->size());
    from.greeted = true;
  }
  for (;;) {
    const auto body = wire::parse_frame(from.received, wire::response_bytes_max).value();
    if (!body) return true;
    const std::size_t bytes = wire::frame_head_bytes + body->size();
    if (!take_frame(pair, from_client, *body)) return true;
    if (!send_all(to.socket.get(), from.received.substr(0, bytes))) return false;
    from.received.erase(0, bytes);
  }
}

// False: the daemon is lost before this frame is passed on.
bool StoreProxy::take_frame(Pair& pair, bool from_client, std::string_view body) {
  if (!from_client) {
    loses_now_ = pair.last_answer && wire::parse_response(body).value().id == *pair.last_answer;
    return !loses_now_;
  }
  const wire::Request request = wire::parse_request(body).value();
  if (request.operation == wire::Operation::cancel) return true;
  if (!loss_ || lost_ || requests_++ != loss_->request) return true;
  if (loss_->moment == Moment::answer) {
    pair.last_answer = request.id;
    return true;
  }
  loses_now_ = true;
  return false;
}

}  // namespace hocket::process_testing
