#include "src/comm/meeting_point.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "src/base/fd.hpp"
#include "src/base/hash.hpp"
#include "src/base/log.hpp"
#include "src/store/dial.hpp"
#include "src/store/endpoint.hpp"
#include "src/store/tcp_store.hpp"

namespace hocket::comm {
namespace {

using namespace std::chrono_literals;

constexpr int ports_after = ports_of_meeting - 1;
constexpr auto stranger = 5s;  // how long what listens on the first port has to show that it is a store
constexpr auto first_look = 25ms, longest_look = 1000ms;  // at another port; longer each time, should the host be slow
constexpr auto pause = 20ms;
constexpr auto silent_for = 10s;  // then the log says that rank 0 is not there yet

using Opened = Result<std::unique_ptr<Store>>;

Opened connect(const std::string& host, std::uint16_t port, Deadline deadline, const std::stop_token& stop,
               const Trust& trust) {
  auto store = TcpStore::connect(host, port, deadline, stop, trust);
  if (!store) return store.status();
  return Opened(std::move(*store));
}

// The store on the port of that index, if it is this meeting point's.
Opened open_at(const MeetingPoint& point, const std::string& host, std::size_t index, Deadline deadline,
               const std::stop_token& stop, const Trust& trust) {
  auto store = connect(host, point.ports[index], deadline, stop, trust);
  if (!store) return store;
  const auto name = (*store)->peek(meeting_point_key, deadline);
  if (!name) return name.status();
  const bool daemon = !*name && index == 0 && point.daemon_possible;
  if (daemon || (*name && ServedStore::parse(**name).point == point.name)) return store;
  return Status(Code::protocol_error, fmt::format("the store at {} is that of another job; give each job a MASTER_PORT "
                                                  "of its own, or a HOCKET_STORE",
                                                  store::host_and_port(host, point.ports[index])));
}

std::string others_in_vain(const MeetingPoint& point) {
  std::string text;
  if (point.ports.size() > 1)
    text = fmt::format(", and neither is any on the {} ports after it", point.ports.size() - 1);
  if (!point.ports_limited_by.empty()) {
    text += fmt::format("; {} allows no others: name a wider range there", point.ports_limited_by);
  }
  return text;
}

// Rank 0: serves on the first port that is free, unless a store of this meeting point is there already.
Opened serve(const MeetingPoint& point, std::size_t members, std::unique_ptr<StoreServer>& server, Deadline deadline,
             const std::stop_token& stop, const Trust& trust) {
  Status refused;
  for (std::size_t index = 0; index < point.ports.size() && !server; ++index) {
    const ServedStore mine{.point = point.name, .job = point.job, .process = ProcessIdentity::own()};
    const StoreServerOptions options{
        .meeting_point = mine.serialise(), .trust = trust, .members = members, .besides = point.besides};
    auto started = StoreServer::start(point.host, point.ports[index], options);
    if (started.ok()) {
      server = std::move(*started);
      if (index > 0) {
        log::info(fmt::format("port {} is taken, so the store is served at {}", point.ports.front(), server->url()));
      }
      break;
    }
    if (started.status().code() != Code::address_in_use) return started.status();
    // Taken by a store, perhaps: that of an earlier communicator of this process, or a daemon.
    const auto patience = index == 0 && point.daemon_possible ? std::chrono::nanoseconds(stranger) : longest_look;
    auto store = open_at(point, point.host, index, earlier(deadline, Deadline::after(patience)), stop, trust);
    if (store.ok() || store.status().code() == Code::aborted) return store;
    if (refused.ok()) refused = started.status();
    if (deadline.passed()) break;
  }
  if (server) return connect(point.host, server->port(), deadline, stop, trust);
  return Status(Code::address_in_use, fmt::format("{}; what listens there is not this job's store{}", refused.message(),
                                                  others_in_vain(point)));
}

// One look at every port of every address; how long it lasts grows from look to look.
class Search {
 public:
  Search(const MeetingPoint& point, Deadline deadline, const std::stop_token& stop, const Trust& trust)
      : point_(point),
        hosts_(point.addresses.empty() ? std::vector{point.host} : point.addresses),
        deadline_(deadline),
        stop_(stop),
        trust_(trust) {}

  // A store, or what makes looking again pointless. Nothing: rank 0 is not there yet.
  std::optional<Opened> look(std::chrono::nanoseconds patience) {
    std::optional<Opened> starved;  // it cannot tell whose store it is: this job's, unless that is found elsewhere
    for (const std::string& host : hosts_) {
      for (std::size_t index = 0; index < point_.ports.size() && !deadline_.passed(); ++index) {
        const bool patient = index == 0 && point_.daemon_possible;
        const auto longest = patient ? std::chrono::nanoseconds(stranger) : (index == 0 ? 4 : 1) * patience;
        const Deadline until = earlier(deadline_, Deadline::after(longest));
        if (index > 0 && store::is_refused(host, point_.ports[index], until)) continue;  // the next look is soon enough
        auto store = open_at(point_, host, index, until, stop_, trust_);
        if (store.ok() || store.status().code() == Code::aborted) return store;
        if (store.status().code() == Code::invalid_environment) return store;  // rank 0's host is another; no secret
        if (!starved && store.status().code() == Code::out_of_resources) starved = store.status();
        // What somebody else answered says more than a last attempt that the deadline cuts short.
        const bool tells = host == hosts_.front() && index == 0;
        if (tells && (first_.ok() || first_.code() == Code::store_unreachable)) first_ = store.status();
      }
    }
    return starved;
  }
  // What happened at the first address and port.
  Status first() const {
    if (!first_.ok()) return first_;
    return {Code::store_unreachable, "the deadline had passed before the first attempt to reach the store"};
  }
  std::string place() const { return store::host_and_port(hosts_.front(), point_.ports.front()); }

 private:
  const MeetingPoint& point_;
  const std::vector<std::string> hosts_;
  const Deadline deadline_;
  const std::stop_token& stop_;
  const Trust& trust_;
  Status first_;
};

// The others: look at the ports in turn until the store is there. The first one is where it nearly always is.
Opened find(const MeetingPoint& point, Deadline deadline, const std::stop_token& stop, const Trust& trust) {
  const auto began = Deadline::Clock::now();
  std::chrono::nanoseconds look = first_look;
  Search search(point, deadline, stop, trust);
  for (bool told = false; !deadline.passed(); look = std::min<std::chrono::nanoseconds>(2 * look, longest_look)) {
    if (auto found = search.look(look)) return std::move(*found);
    if (!told && Deadline::Clock::now() - began > silent_for) {
      log::warn(fmt::format("still waiting for rank 0 at {}: {}", search.place(), search.first().message()));
      told = true;
    }
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(pause, deadline.remaining()));
  }
  return search.first();
}

}  // namespace

MeetingPoint MeetingPoint::at(const std::string& host, std::uint16_t port, bool taken, std::uint16_t last) {
  MeetingPoint point{.host = host, .ports = {}, .name = fmt::format("port {}", port), .daemon_possible = !taken};
  if (!taken) point.ports.push_back(port);
  for (int after = 1; after <= ports_after && port + after <= last; ++after) {
    point.ports.push_back(static_cast<std::uint16_t>(port + after));
  }
  return point;
}

MeetingPoint MeetingPoint::of_job(const std::string& key) {
  constexpr std::uint64_t lowest = 10000, count = 22000;  // below the ports that systems hand out by themselves
  MeetingPoint point{.host = "127.0.0.1", .ports = {}, .name = key};
  const auto begin = hash_of(key) % count;  // of different jobs, mostly different ones
  for (std::uint64_t after = 0; after < ports_after; ++after) {
    point.ports.push_back(static_cast<std::uint16_t>(lowest + (begin + after) % count));
  }
  return point;
}

std::string ServedStore::serialise() const {
  return fmt::format("{}\n{}\n{}", point, job, process.serialise());
}

ServedStore ServedStore::parse(std::string_view text) {
  const auto line = [&] {
    const std::string_view first = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), first.size() + 1));
    return std::string(first);
  };
  ServedStore served{.point = line(), .job = line()};
  if (auto process = ProcessIdentity::parse(text)) served.process = std::move(*process);
  return served;
}

std::string every_address() {
  return UniqueFd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)) ? "::" : "0.0.0.0";
}

Result<std::unique_ptr<Store>> meet_at(const MeetingPoint& point, std::size_t serves,
                                       std::unique_ptr<StoreServer>& server, Deadline deadline,
                                       const std::stop_token& stop, const Trust& trust) {
  return serves > 0 ? serve(point, serves, server, deadline, stop, trust) : find(point, deadline, stop, trust);
}

}  // namespace hocket::comm
