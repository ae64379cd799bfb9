#include "src/comm/left_servers.hpp"

#include <unistd.h>

#include <list>
#include <mutex>
#include <optional>
#include <utility>

#include "src/comm/attendant.hpp"

namespace hocket::comm {
namespace {

class LeftServer {
 public:
  LeftServer(std::string point, std::unique_ptr<StoreServer> server)
      : point_(std::move(point)), server_(std::move(server)) {}

  void serve(std::size_t readers, Deadline until) {
    auto attendant = Attendant::start([this, readers, until](const std::stop_token& over) {
      (void)server_->wait_until_no_clients(until, readers, over);
      server_.reset();
    });
    if (!attendant.ok()) return server_.reset();
    attendant_.emplace(std::move(*attendant));
  }
  const std::string& point() const { return point_; }
  void wait() {
    if (attendant_) attendant_->wait();
  }

 private:
  const std::string point_;
  std::unique_ptr<StoreServer> server_;  // the attendant's
  std::optional<Attendant> attendant_;
};

// Those of one process.
class LeftServers {
 public:
  // A forked child has copies of its parent's, without their threads: it leaves these alone, and has its own.
  static LeftServers& of_this_process() {
    static std::mutex mutex;
    static LeftServers* current = nullptr;
    const std::lock_guard lock(mutex);
    if (current == nullptr || current->process_ != ::getpid()) current = new LeftServers();
    return *current;
  }

  void add(const std::string& point, std::unique_ptr<StoreServer> server, std::size_t readers, Deadline until) {
    const std::lock_guard lock(mutex_);
    left_.emplace_back(point, std::move(server)).serve(readers, until);
  }
  void end(const std::string& point) {
    const std::lock_guard lock(mutex_);
    left_.remove_if([&](const LeftServer& one) { return one.point() == point; });
  }
  void wait() {
    const std::lock_guard lock(mutex_);
    for (LeftServer& one : left_) one.wait();
    left_.clear();
  }

 private:
  LeftServers() = default;

  const pid_t process_ = ::getpid();
  std::mutex mutex_;  // guards the list
  std::list<LeftServer> left_;
};

}  // namespace

void leave_server(const std::string& point, std::unique_ptr<StoreServer> server, std::size_t readers, Deadline until) {
  static const struct AtExit {
    ~AtExit() { LeftServers::of_this_process().wait(); }
  } at_exit;
  LeftServers::of_this_process().add(point, std::move(server), readers, until);
}

void end_left_servers(const std::string& point) {
  LeftServers::of_this_process().end(point);
}

}  // namespace hocket::comm
