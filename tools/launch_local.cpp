#include "tools/launch_local.hpp"

#include <fmt/core.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "tools/launch_cores.hpp"
#include "tools/launch_heap.hpp"
#include "tools/launch_store.hpp"

namespace hocket::launch {
namespace {

// How often to look for the end of processes that are nobody's children here.
constexpr int ends_poll_ms = 200;

}  // namespace

LocalRanks::LocalRanks(const Options& options, Relays& relays, const std::optional<Place>& place)
    : options_(options),
      relays_(relays),
      for_agent_(place),
      place_(place.value_or(Place{.local = options.ranks, .ranks = options.ranks})) {}

Status LocalRanks::prepare() {
  if (options_.elastic) {
    auto served = serve_store(place_.master_address);
    if (!served) return served.status();
    store_ = std::move(*served);
  }
  if (!for_agent_) {
    const Result<std::uint16_t> port = free_port();
    if (!port) return port.status();
    place_.master_port = *port;
    secret_ = secret_for_ranks();
  }
  auto cores = cores_for(places(), options_.binding);
  if (!cores) return cores.status();
  cores_ = std::move(*cores);
  if (!options_.shared_heap) return {};
  auto library = shared_heap_library();
  if (library) preload_ = std::move(*library);
  return library.status();
}

Status LocalRanks::start() {
  if (const Status prepared = prepare(); !prepared) return prepared;
  for (int place = 0; place < places(); ++place) {
    const Role role = place < place_.local ? Role::rank : Role::newcomer;
    if (const Status started = start_one(place, role); !started) return started;
  }
  return {};
}

Status LocalRanks::start_one(int place, Role role) {
  const int rank = place_.first + place;
  Streams streams;
  UniqueFd output, error;
  if (options_.input_to_rank_0 && rank == 0) streams.input = STDIN_FILENO;
  if (const Status made = relays_.add(label_of(rank, false), false, &output); !made) return made;
  streams.output = output.get();
  if (options_.output != Output::progress) {
    // An agent's one stream carries both.
    if (const Status made = relays_.add(label_of(rank, true), !for_agent_, &error); !made) return made;
    streams.error = error.get();
  }
  Place where = place_;
  if (role != Role::rank) where.local = places();
  RankEnvironment environment{
      .place = where, .local_rank = place, .role = role, .secret = secret_, .preload = preload_};
  if (!cores_.empty()) environment.cores = &cores_[static_cast<std::size_t>(place)];
  const Result<pid_t> pid = start_rank(options_.command, environment, streams);
  if (!pid) return pid.status();
  members_.push_back({.place = place, .pid = *pid});
  guard_.add(*pid);
  return {};
}

// What the former process has started would hold what its successor needs, such as ports and memory.
Status LocalRanks::start_again(int rank, bool founds) {
  const int place = rank - place_.first;
  for (const Member& member : members_) {
    if (member.place == place && member.group_alive) kill(-member.pid, SIGKILL);
  }
  return start_one(place, founds ? Role::founder : Role::newcomer);
}

std::optional<int> LocalRanks::free_place() const {
  for (int place = 0; place < places(); ++place) {
    const auto runs_there = [&](const Member& member) { return member.place == place && member.running; };
    if (std::ranges::none_of(members_, runs_there)) return place_.first + place;
  }
  return std::nullopt;
}

void LocalRanks::kill_one(int rank) {
  for (const Member& member : members_) {
    if (member.running && member.place == rank - place_.first) kill(-member.pid, SIGKILL);
  }
}

std::optional<int> LocalRanks::rank_of(pid_t process) const {
  const auto is_in = [group = getpgid(process)](const Member& member) { return member.running && member.pid == group; };
  const auto found = std::ranges::find_if(members_, is_in);
  return found == members_.end() ? std::nullopt : std::optional(place_.first + found->place);
}

std::string LocalRanks::label_of(int rank, bool error) const {
  const std::string label = options_.output == Output::labelled ? fmt::format("[{}] ", rank) : "";
  return for_agent_ ? (error ? "e" : "o") + label : label;
}

int LocalRanks::wait_ms() const {
  return running() == 0 ? ends_poll_ms : -1;
}

std::vector<End> LocalRanks::progress() {
  std::vector<End> ends;
  int wait_status = 0;
  for (pid_t pid; (pid = waitpid(-1, &wait_status, WNOHANG)) > 0;) {
    const auto member = std::ranges::find(members_, pid, &Member::pid);
    if (member == members_.end()) continue;  // something that a rank left behind
    member->running = false;
    ends.push_back({.rank = place_.first + member->place, .wait_status = wait_status});
  }
  refresh_groups();
  return ends;
}

void LocalRanks::refresh_groups() {
  for (Member& member : members_) {
    if (member.running || !member.group_alive) continue;
    if (kill(-member.pid, 0) == 0 || errno != ESRCH) continue;
    member.group_alive = false;
    guard_.remove(member.pid);
  }
}

void LocalRanks::signal(int number) {
  for (const Member& member : members_) {
    if (member.group_alive) kill(-member.pid, number);
  }
}

int LocalRanks::running() const {
  return static_cast<int>(std::ranges::count(members_, true, &Member::running));
}

bool LocalRanks::alive() const {
  return std::ranges::find(members_, true, &Member::group_alive) != members_.end();
}

}  // namespace hocket::launch
