#include "src/comm/launcher_meeting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <mutex>
#include <utility>

#include "src/base/random.hpp"
#include "src/comm/job_secret.hpp"
#include "transports/tcp/interfaces.hpp"
#include "transports/tcp/settings.hpp"

namespace hocket::comm {
namespace {

constexpr std::size_t ips_told = 16;  // so that the text stays below key_space_text_max

// What rank 0 tells.
struct Told {
  tcp::Reachability place;
  std::string secret;
};

std::string serialise(const Told& told) {
  return fmt::format("{},{}", hexadecimal(encode(told.place)), told.secret);
}

std::optional<std::string> bytes_of(std::string_view hexadecimals) {
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
  const auto bytes = bytes_of(std::string_view(text).substr(0, comma));
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
Result<Told> choose_place(const tcp::LocalHost& host) {
  const auto settings = tcp::Settings::from_environment();
  if (!settings.ok()) return settings.status();
  const auto [first, last] = settings->ports;
  auto port = MeetingPoint::of_job(random_secret()).ports.front();
  if (first != 0) port = static_cast<std::uint16_t>(first + random_number() % (last - first + 1));
  Told told{host.advertise(port), random_secret()};
  told.place.ips.resize(std::min(told.place.ips.size(), ips_told));
  return told;
}

MeetingPoint point_of(const Told& told, const tcp::LocalHost& host) {
  MeetingPoint point = MeetingPoint::at(every_address(), told.place.port, false);
  point.daemon_possible = false;
  point.name = hexadecimal(encode(told.place));
  for (const tcp::Endpoint& endpoint : host.candidates(told.place)) point.addresses.push_back(endpoint.ip_text());
  return point;
}

struct Meeting {
  MeetingPoint point;
  std::string secret;
};

Result<Meeting> meeting_by(KeySpace space, Rank rank, Deadline deadline, const std::stop_token& stop) {
  const auto host = tcp::LocalHost::from_environment();
  if (!host.ok()) return host.status();
  std::string words;
  if (rank == 0) {
    const auto own = choose_place(*host);
    if (!own.ok()) return own.status();
    words = serialise(*own);
  }
  const auto heard = tell_all(space, rank, words, deadline, stop);
  if (!heard.ok()) return heard.status();
  const auto told = parse(*heard);
  if (!told.ok()) return told.status();
  return Meeting{point_of(*told, *host), told->secret};
}

// The launcher's space belongs to the process, so what came of it does, too.
Result<Meeting> only_meeting(const Options& options, Deadline deadline, const std::stop_token& stop) {
  static std::timed_mutex mutex;
  static std::optional<Result<Meeting>> outcome;
  const std::unique_lock lock(mutex, deadline.at());
  if (!lock.owns_lock()) return Status(Code::timeout, "another thread still waits for the launcher's key space");
  if (!outcome) outcome = meeting_by(options.key_space, options.rank, deadline, stop);
  return *outcome;
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
