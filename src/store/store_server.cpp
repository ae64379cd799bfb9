#include "src/store/store_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <thread>
#include <unordered_map>

#include "src/base/log.hpp"
#include "src/base/signals_blocked.hpp"
#include "src/store/acceptors.hpp"
#include "src/store/attendance.hpp"
#include "src/store/endpoint.hpp"
#include "src/store/metrics_page.hpp"
#include "src/store/session.hpp"
#include "src/store/turned_away.hpp"

namespace hocket {

using asio::ip::tcp;
using store::ClientId;
using store::Session;
using store::wire::Verdict;

namespace {

constexpr std::size_t complained_max = 1024;  // addresses that are remembered; those beyond are not logged
constexpr std::chrono::seconds save_every{10};
constexpr std::chrono::seconds idle_for{1};  // then a client may have to make room

}  // namespace

// After start(), everything but the attendance belongs to the server's thread.
class StoreServer::Implementation final : public store::SessionListener {
 public:
  Implementation(std::string host, const StoreServerOptions& options)
      : host_(std::move(host)),
        options_(options),
        acceptors_(context_, host_, options.besides),
        page_(context_, options.metrics_host, [this] { return measure(); }),
        service_(
            [this](ClientId client, std::uint64_t request, Code code, store::Dictionary::Value payload) {
              const auto session = sessions_.find(client);
              if (session != sessions_.end()) session->second->respond(request, code, std::move(payload));
            },
            options.limits),
        clients_max_(std::max(options.limits.clients > 0 ? options.limits.clients : store::clients_by_descriptors(),
                              options.members)) {}
  ~Implementation() override { stop(); }

  Status listen(std::uint16_t port) {
    if (!options_.snapshot.empty()) {
      if (Status loaded = service_.load(options_.snapshot); !loaded) return loaded;
    }
    if (Status status = acceptors_.listen(port); !status || !options_.metrics_port) return status;
    return page_.listen(*options_.metrics_port);
  }
  void run();

  std::string url() const { return "tcp://" + store::host_and_port(host_, port()); }
  std::uint16_t port() const { return acceptors_.port(); }
  std::uint16_t metrics_port() const { return page_.port(); }
  const store::Attendance& attendance() const { return attendance_; }
  void turn_all_away(const std::string& why);

 private:
  void admit(tcp::socket socket);
  store::Metrics measure() const;
  void save_now_and_then();
  void save();
  bool admit_last(tcp::socket socket);
  bool make_room();
  void turn_away(tcp::socket socket, Verdict verdict, const std::string& why) {
    ++counted_.refusals;
    turned_away_.tell(std::move(socket), ++last_client_, verdict, why);
  }
  void stop();

  void welcomed(Session&) override { attendance_.come(); }
  void requested(Session& session, const store::wire::Request& request) override;
  void refused(Session& session, std::string_view why) override;
  void left(Session& session) override;
  bool holds(std::size_t before, std::size_t now) override;
  std::string starve() override;

  const std::string host_;
  const StoreServerOptions options_;
  asio::io_context context_;
  store::Acceptors acceptors_;
  store::MetricsPage page_;
  store::Service service_;
  const std::size_t clients_max_;
  std::size_t held_bytes_ = 0;  // of large requests under way
  store::Metrics counted_;      // what has happened since the start
  asio::steady_timer save_timer_{context_};
  std::uint64_t saved_at_ = 0;  // the requests that had been taken when the snapshot was written last
  std::unordered_map<ClientId, std::shared_ptr<Session>> sessions_;
  store::TurnedAway turned_away_{options_.trust, *this};
  ClientId last_client_ = 0;
  std::optional<std::string> parting_words_;  // to all who come
  std::set<std::string> complained_;          // peers that the log has named
  std::thread thread_;

  store::Attendance attendance_;
};

void StoreServer::Implementation::run() {
  if (!options_.meeting_point.empty()) {  // before there are clients
    service_.handle(
        last_client_,
        {.operation = store::wire::Operation::set, .key = meeting_point_key, .value = options_.meeting_point});
  }
  acceptors_.accept([this](tcp::socket socket) { admit(std::move(socket)); },
                    [this](tcp::socket socket) { return admit_last(std::move(socket)); },
                    [this] { turned_away_.close_oldest(); });
  page_.serve();
  save_now_and_then();
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

store::Metrics StoreServer::Implementation::measure() const {
  store::Metrics metrics = counted_;
  metrics.clients = attendance_.clients();
  metrics.keys = service_.dictionary().size();
  metrics.bytes = service_.dictionary().bytes();
  metrics.waiting = service_.parked();
  metrics.ranks = store::reports_in(service_.dictionary());
  return metrics;
}

void StoreServer::Implementation::save_now_and_then() {
  if (options_.snapshot.empty()) return;
  save_timer_.expires_after(save_every);
  save_timer_.async_wait([this](const asio::error_code& cancelled) {
    if (cancelled) return;
    if (saved_at_ != counted_.requests) save();
    save_now_and_then();
  });
}

void StoreServer::Implementation::save() {
  if (options_.snapshot.empty()) return;
  saved_at_ = counted_.requests;
  if (Status saved = service_.save(options_.snapshot); !saved) log::error(saved.message());
}

void StoreServer::Implementation::admit(tcp::socket socket) {
  ++counted_.connections;
  if (parting_words_) return turn_away(std::move(socket), Verdict::starved, *parting_words_);
  if (sessions_.size() >= clients_max_ && !make_room()) {
    const std::string why = fmt::format("it serves {} clients, and {}", clients_max_, store::wire::no_room);
    if (complained_.insert("full").second)
      log::warn(fmt::format("the store at {}: {}; others have to wait", url(), why));
    return turn_away(std::move(socket), Verdict::refused, why);
  }
  const ClientId id = ++last_client_;
  const auto session = std::make_shared<Session>(*this, id, std::move(socket), options_.trust);
  sessions_.emplace(id, session);
  session->start(options_.greeting_timeout);
}

// Ends the client that is missed least, if there is one.
bool StoreServer::Implementation::make_room() {
  const auto now = std::chrono::steady_clock::now();
  const auto rank = [&](const Session& session) {  // 0: it stays
    if (!session.is_welcome()) return 2;
    return now - session.active_at() >= idle_for && !service_.is_engaged(session.id()) ? 1 : 0;
  };
  std::shared_ptr<Session> least;
  for (const auto& [id, session] : sessions_) {
    const int its = rank(*session), of_least = least ? rank(*least) : 0;
    if (its > of_least || (its > 0 && its == of_least && session->active_at() < least->active_at())) least = session;
  }
  if (least) {
    ++counted_.evictions;
    least->close();
  }
  return least != nullptr;
}

// Where this process has no descriptor left for others.
bool StoreServer::Implementation::admit_last(tcp::socket socket) {
  const bool has_room = make_room();
  has_room ? admit(std::move(socket)) : turn_away(std::move(socket), Verdict::starved, starve());
  return has_room;
}

std::string StoreServer::Implementation::starve() {
  const std::size_t limit = store::descriptors_max(),
                    to_come = options_.members - std::min(options_.members, sessions_.size());
  const std::string why = fmt::format(
      "its process has all the {} file descriptors that it may have, and none for another client: raise its limit to "
      "{} or more (ulimit -n)",
      limit, limit + std::max<std::size_t>(to_come, 1));
  attendance_.starve({Code::out_of_resources, fmt::format("cannot serve the store at {} to all: {}", url(), why)});
  return why;
}

bool StoreServer::Implementation::holds(std::size_t before, std::size_t now) {
  held_bytes_ += now - before;
  return now <= before || held_bytes_ <= options_.limits.input_bytes;
}

void StoreServer::Implementation::turn_all_away(const std::string& why) {
  asio::post(context_, [this, why] {
    parting_words_ = why;
    while (!sessions_.empty()) sessions_.begin()->second->close();
  });
}

void StoreServer::Implementation::stop() {
  if (!thread_.joinable()) return;
  asio::post(context_, [this] {
    acceptors_.close();
    page_.close();
    save_timer_.cancel();
    service_.end();
    while (!sessions_.empty()) sessions_.begin()->second->close();
    turned_away_.close_all();
  });
  thread_.join();  // the context has run out of work
  save();
}

void StoreServer::Implementation::requested(Session& session, const store::wire::Request& request) {
  ++counted_.requests;
  service_.handle(session.id(), request);
}

void StoreServer::Implementation::refused(Session& session, std::string_view why) {
  if (!turned_away_.has(session.id())) ++counted_.refusals;
  if (complained_.size() >= complained_max || !complained_.insert(session.peer()).second) return;
  log::warn(fmt::format("the store at {} refused a connection from {}: {} (said once for each address)", url(),
                        session.peer(), why));
}

void StoreServer::Implementation::left(Session& session) {
  if (turned_away_.forget(session.id())) return acceptors_.keep_spare();
  service_.leave(session.id());
  sessions_.erase(session.id());
  if (session.is_welcome()) attendance_.leave();
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

std::uint16_t StoreServer::metrics_port() const {
  return implementation_->metrics_port();
}

std::string StoreServer::url() const {
  return implementation_->url();
}

std::size_t StoreServer::clients() const {
  return implementation_->attendance().clients();
}

bool StoreServer::wait_until_no_clients(Deadline deadline, std::size_t welcomed, const std::stop_token& stop) const {
  return implementation_->attendance().wait_until_none(deadline, welcomed, stop);
}

Status StoreServer::starved() const {
  return implementation_->attendance().starved();
}

void StoreServer::turn_all_away(const std::string& why) {
  implementation_->turn_all_away(why);
}

}  // namespace hocket
