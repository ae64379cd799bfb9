#include "src/comm/launcher_meeting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <mutex>
#include <utility>

#include "src/base/deadline_mutex.hpp"
#include "src/base/random.hpp"
#include "src/comm/job_secret.hpp"
#include "transports/tcp/interfaces.hpp"
#include "transports/tcp/settings.hpp"

namespace hocket::comm {
namespace {

using namespace std::chrono_literals;

constexpr auto look_up_every = 50ms;  // at the request to stop
constexpr std::size_t ips_told = 16;  // so that the text stays below key_space_text_max

// What rank 0 tells.
struct Told {
  tcp::Reachability place;
  std::string secret;
};

std::string serialise(const Told& told) {
  return fmt::format("{},{}", hexadecimal(encode(told.place)), told.secret);
}

std::optional<std::string> decode(std::string_view hexadecimals) {
  std::string bytes;
  for (; hexadecimals.size() >= 2; hexadecimals.remove_prefix(2)) {
    unsigned value = 0;
    const char* const end = hexadecimals.data() + 2;
    if (std::from_chars(hexadecimals.data(), end, value, 16).ptr != end) return std::nullopt;
    bytes += static_cast<char>(value);
  }
  return bytes;
}

Result<Told> parse(const std::string& text) {
  const auto comma = text.find(',');
  const auto bytes = decode(std::string_view(text).substr(0, comma));
  const auto place = bytes && comma != text.npos ? tcp::parse_reachability(*bytes) : std::nullopt;
  if (!place) {
    return Status(Code::protocol_error,
                  "what rank 0 told through the launcher is not understood: do all ranks run the "
                  "same build?");
  }
  Told told{*place, text.substr(comma + 1)};
  if (Status sound = check_secret(told.secret, "what rank 0 told through the launcher"); !sound.ok()) return sound;
  return told;
}

// Rank 0's own: at addresses that the environment allows, and where it names no ports, at one that hardly anybody uses.
Told choose_place(const tcp::LocalHost& host, const tcp::Settings::Ports& ports) {
  const auto [first, last] = ports;
  auto port = MeetingPoint::of_job(random_secret()).ports.front();
  if (first != 0) {  // there and on those that stand in for it
    const int begins = std::max(1, last - first + 2 - ports_of_meeting);
    port = static_cast<std::uint16_t>(first + random_number() % static_cast<std::uint64_t>(begins));
  }
  Told told{host.advertise(port), random_secret()};
  told.place.ips.resize(std::min(told.place.ips.size(), ips_told));
  return told;
}

// Rank 0 listens where the environment lets its own connections listen. `allowed`: ports, as this rank knows them.
MeetingPoint point_of(const Told& told, const tcp::LocalHost& host, const tcp::Settings::Ports& allowed) {
  const bool limited = allowed.first <= told.place.port && told.place.port <= allowed.last;
  MeetingPoint point =
      MeetingPoint::at(every_address(), told.place.port, false, limited ? allowed.last : std::uint16_t{0xFFFF});
  if (limited) point.ports_limited_by = "HOCKET_TCP_PORTS";
  for (const tcp::Endpoint& endpoint : host.listening_endpoints()) point.besides.push_back(endpoint.ip_text());
  if (!point.besides.empty()) {  // loopback first, by which rank 0 itself reaches it
    point.host = point.besides.front();
    point.besides.erase(point.besides.begin());
  }
  point.daemon_possible = false;
  point.name = hexadecimal(encode(told.place));
  for (const tcp::Endpoint& endpoint : host.candidates(told.place)) point.addresses.push_back(endpoint.ip_text());
  return point;
}

struct Meeting {
  MeetingPoint point;
  std::string secret;
};

// The launcher's space, which a process can use once.
struct MeetingSpace {
  DeadlineMutex mutex;
  std::optional<Meeting> meeting;
  Status failure;  // of the one use
};

// For as long as it waits, whoever gives up its own creation need not wait with it.
std::unique_lock<DeadlineMutex> lock_of(MeetingSpace& space, Deadline deadline, const std::stop_token& stop) {
  std::unique_lock lock(space.mutex, std::defer_lock);
  while (!lock.try_lock_until(earlier(deadline, Deadline::after(look_up_every)).at())) {
    if (stop.stop_requested() || deadline.passed()) break;
  }
  return lock;
}

Result<Meeting> meeting_by(MeetingSpace& space, const Options& options, Deadline deadline,
                           const std::stop_token& stop) {
  const auto host = tcp::LocalHost::from_environment();
  if (!host.ok()) return host.status();
  const auto settings = tcp::Settings::from_environment();
  if (!settings.ok()) return settings.status();
  // The other ranks have no words.
  const std::string words = options.rank == 0 ? serialise(choose_place(*host, settings->ports)) : "";
  const auto heard = tell_all(options.key_space, options.rank, words, deadline, stop);
  const auto told = heard.ok() ? parse(*heard) : Result<Told>(heard.status());
  if (!told.ok()) return space.failure = told.status();
  return space.meeting.emplace(point_of(*told, *host, settings->ports), told->secret);
}

Result<Meeting> only_meeting(const Options& options, Deadline deadline, const std::stop_token& stop) {
  static MeetingSpace space;
  const auto lock = lock_of(space, deadline, stop);
  if (!lock) {
    if (stop.stop_requested()) return Status(Code::aborted, "the creation was given up");
    return Status(Code::timeout, "another thread still waits for the launcher's key space");
  }
  if (space.meeting) return *space.meeting;
  if (space.failure.ok()) return meeting_by(space, options, deadline, stop);
  return Status(Code::store_unreachable,
                fmt::format("the launcher's key space is used up: a process can use it once, and the first creation "
                            "failed there ({}); set MASTER_ADDR, MASTER_PORT and HOCKET_SECRET on all ranks instead",
                            space.failure.message()));
}

}  // namespace

Result<Options> with_meeting_point(const Options& options, Deadline deadline, const std::stop_token& stop) {
  if (options.key_space == KeySpace::none) return options;
  auto meeting = only_meeting(options, deadline, stop);
  if (!meeting.ok()) return meeting.status();
  Options own = options;
  own.meeting = std::move(meeting->point);
  if (needs_secret(own)) own.trust.secret = std::move(meeting->secret);
  return own;
}

}  // namespace hocket::comm
