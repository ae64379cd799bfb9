#include "src/store/store_server.hpp"

#include <fmt/format.h>

#include <condition_variable>
#include <cstring>
#include <list>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>

#include "src/base/log.hpp"
#include "src/base/signals_blocked.hpp"
#include "src/store/asio.hpp"
#include "src/store/endpoint.hpp"
#include "src/store/session.hpp"

namespace hocket {

using asio::ip::tcp;
using store::ClientId;
using store::Session;

namespace {

using namespace std::chrono_literals;

constexpr auto resolve_timeout = 30s;
constexpr auto pause_after_failure = 200ms;
constexpr std::size_t complained_max = 1024;  // addresses that are remembered; those beyond are not logged
constexpr int attempts_to_choose = 16;

tcp::endpoint to_asio(const store::Endpoint& endpoint) {
  tcp::endpoint converted;
  converted.resize(endpoint.bytes);
  std::memcpy(converted.data(), endpoint.get(), endpoint.bytes);
  return converted;
}

}  // namespace

// After start(), everything but the counts belongs to the server's thread.
class StoreServer::Implementation final : public store::SessionListener {
 public:
  Implementation(std::string host, const StoreServerOptions& options)
      : host_(std::move(host)),
        options_(options),
        service_([this](ClientId client, std::uint64_t request, Code code, store::Dictionary::Value payload) {
          const auto session = sessions_.find(client);
          if (session != sessions_.end()) session->second->respond(request, code, std::move(payload));
        }) {}
  ~Implementation() override { stop(); }

  Status listen(std::uint16_t port);
  void run();

  std::string url() const { return "tcp://" + store::host_and_port(host_, port_); }
  std::uint16_t port() const { return port_; }
  std::size_t clients() const;
  bool wait_until_no_clients(Deadline deadline) const;

 private:
  // An acceptor, and the timer with which it pauses when it cannot accept.
  struct Door {
    explicit Door(asio::io_context& context) : acceptor(context), timer(context) {}
    tcp::acceptor acceptor;
    asio::steady_timer timer;
  };

  Status listen_on(const std::vector<store::Endpoint>& endpoints, std::uint16_t port);
  asio::error_code open(Door& door, tcp::endpoint endpoint, std::uint16_t port);
  Status explain(const asio::error_code& error, std::uint16_t port) const;
  void accept(Door& door);
  void admit(tcp::socket socket);
  void stop();

  void welcomed(Session& session) override;
  void requested(Session& session, const store::wire::Request& request) override;
  void refused(Session& session, std::string_view why) override;
  void left(Session& session) override;

  const std::string host_;
  const StoreServerOptions options_;
  std::uint16_t port_ = 0;
  asio::io_context context_;
  std::list<Door> doors_;
  store::Service service_;
  std::unordered_map<ClientId, std::shared_ptr<Session>> sessions_;
  ClientId last_client_ = 0;
  std::set<std::string> complained_;  // peers that the log has named
  std::thread thread_;

  mutable std::mutex mutex_;  // guards the count
  mutable std::condition_variable changed_;
  std::size_t clients_ = 0;
};

Status StoreServer::Implementation::listen(std::uint16_t port) {
  if (host_.empty()) {
    return {Code::invalid_environment, "the address to bind is empty; give one of this machine's, or 0.0.0.0 for all"};
  }
  const auto endpoints = store::resolve(host_, port, Deadline::after(resolve_timeout));
  if (!endpoints) return {Code::invalid_environment, "cannot serve the store: " + endpoints.status().message()};
  Status status;
  for (int attempt = 0; attempt < attempts_to_choose; ++attempt) {
    status = listen_on(*endpoints, port);
    // A port that was free on the first address may be taken on the second: let the system choose another.
    if (status.ok() || port != 0 || status.code() != Code::address_in_use) break;
  }
  return status;
}

Status StoreServer::Implementation::listen_on(const std::vector<store::Endpoint>& endpoints, std::uint16_t port) {
  doors_.clear();
  asio::error_code skipped;
  for (const store::Endpoint& endpoint : endpoints) {
    Door& door = doors_.emplace_back(context_);
    const asio::error_code error = open(door, to_asio(endpoint), port);
    if (!error) {
      port = port_ = door.acceptor.local_endpoint().port();
      continue;
    }
    doors_.pop_back();
    if (error == asio::error::address_in_use || error == asio::error::no_descriptors) return explain(error, port);
    skipped = error;  // "localhost" names ::1 also where IPv6 is switched off
  }
  return doors_.empty() ? explain(skipped, port) : Status();
}

asio::error_code StoreServer::Implementation::open(Door& door, tcp::endpoint endpoint, std::uint16_t port) {
  endpoint.port(port);
  asio::error_code error;
  door.acceptor.open(endpoint.protocol(), error);
  if (!error) door.acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error && endpoint.address().is_v6()) {
    const bool all = endpoint.address().is_unspecified();
    door.acceptor.set_option(asio::ip::v6_only(!all), error);
  }
  if (!error) door.acceptor.bind(endpoint, error);
  if (!error) door.acceptor.listen(tcp::acceptor::max_listen_connections, error);
  return error;
}

Status StoreServer::Implementation::explain(const asio::error_code& error, std::uint16_t port) const {
  const std::string where = store::host_and_port(host_, port);
  if (error == asio::error::address_in_use) {
    return {Code::address_in_use,
            fmt::format("cannot serve the store at {}: another process listens there; stop it or choose another port "
                        "(0: any free one)",
                        where)};
  }
  if (error == asio::error::no_descriptors) {
    return {
        Code::out_of_resources,
        fmt::format("cannot serve the store at {}: no file descriptor is left; raise the limit (ulimit -n)", where)};
  }
  return {
      Code::invalid_environment,
      fmt::format("cannot serve the store at {}: {}; bind an address of this machine, and a port that this user may "
                  "take",
                  where, error.message())};
}

void StoreServer::Implementation::run() {
  if (!options_.meeting_point.empty()) {  // before there are clients
    service_.handle(
        last_client_,
        {.operation = store::wire::Operation::set, .key = meeting_point_key, .value = options_.meeting_point});
  }
  for (Door& door : doors_) accept(door);
  const SignalsBlocked signals_blocked;
  thread_ = std::thread([this] {
    for (;;) {
      try {
        context_.run();
        return;
      } catch (const std::exception& error) {  // one event is lost, the server goes on
        log::error(fmt::format("the store at {} failed at something: {}", url(), error.what()));
      }
    }
  });
}

void StoreServer::Implementation::accept(Door& door) {
  door.acceptor.async_accept([this, &door](const asio::error_code& error, tcp::socket socket) {
    if (!door.acceptor.is_open()) return;
    if (!error) {
      admit(std::move(socket));
      return accept(door);
    }
    if (error == asio::error::connection_aborted) return accept(door);
    // File descriptors or memory have run out, most likely: the client stays in the queue meanwhile.
    if (complained_.insert("accept").second) {
      log::error(fmt::format("the store at {} takes no more clients for now: {}; raise the limit (ulimit -n)", url(),
                             error.message()));
    }
    door.timer.expires_after(pause_after_failure);
    door.timer.async_wait([this, &door](const asio::error_code& cancelled) {
      if (!cancelled) accept(door);
    });
  });
}

void StoreServer::Implementation::admit(tcp::socket socket) {
  const ClientId id = ++last_client_;
  const auto session = std::make_shared<Session>(*this, id, std::move(socket));
  sessions_.emplace(id, session);
  session->start(options_.greeting_timeout);
}

void StoreServer::Implementation::stop() {
  if (!thread_.joinable()) return;
  asio::post(context_, [this] {
    for (Door& door : doors_) {
      asio::error_code ignored;
      door.acceptor.close(ignored);
      door.timer.cancel(ignored);
    }
    while (!sessions_.empty()) sessions_.begin()->second->close();
  });
  thread_.join();  // the context has run out of work
}

void StoreServer::Implementation::welcomed(Session&) {
  const std::lock_guard lock(mutex_);
  ++clients_;
}

void StoreServer::Implementation::requested(Session& session, const store::wire::Request& request) {
  service_.handle(session.id(), request);
}

void StoreServer::Implementation::refused(Session& session, std::string_view why) {
  if (complained_.size() >= complained_max || !complained_.insert(session.peer()).second) return;
  log::warn(fmt::format("the store at {} refused a connection from {}: {} (said once for each address)", url(),
                        session.peer(), why));
}

void StoreServer::Implementation::left(Session& session) {
  service_.leave(session.id());
  sessions_.erase(session.id());
  if (!session.is_welcome()) return;
  const std::lock_guard lock(mutex_);
  --clients_;
  changed_.notify_all();
}

std::size_t StoreServer::Implementation::clients() const {
  const std::lock_guard lock(mutex_);
  return clients_;
}

bool StoreServer::Implementation::wait_until_no_clients(Deadline deadline) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline.at(), [this] { return clients_ == 0; });
}

Result<std::unique_ptr<StoreServer>> StoreServer::start(const std::string& host, std::uint16_t port,
                                                        const StoreServerOptions& options) {
  try {
    auto implementation = std::make_unique<Implementation>(host, options);
    if (Status status = implementation->listen(port); !status) return status;
    implementation->run();
    return std::unique_ptr<StoreServer>(new StoreServer(std::move(implementation)));
  } catch (const std::exception& error) {  // Asio's context, or a thread
    return Status(Code::out_of_resources, fmt::format("cannot start the store's server: {}", error.what()));
  }
}

StoreServer::StoreServer(std::unique_ptr<Implementation> implementation) : implementation_(std::move(implementation)) {}
StoreServer::~StoreServer() = default;

std::uint16_t StoreServer::port() const {
  return implementation_->port();
}

std::string StoreServer::url() const {
  return implementation_->url();
}

std::size_t StoreServer::clients() const {
  return implementation_->clients();
}

bool StoreServer::wait_until_no_clients(Deadline deadline) const {
  return implementation_->wait_until_no_clients(deadline);
}

}  // namespace hocket
