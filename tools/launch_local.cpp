#include "tools/launch_local.hpp"

#include <fmt/core.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "tools/launch_cores.hpp"
#include "tools/launch_heap.hpp"

namespace hocket::launch {
namespace {

// How often to look for the end of processes that are nobody's children here.
constexpr int poll_ms_max = 200;

}  // namespace

LocalRanks::LocalRanks(const Options& options, Relays& relays, const std::optional<Place>& place)
    : options_(options),
      relays_(relays),
      for_agent_(place),
      place_(place.value_or(Place{.local = options.ranks, .ranks = options.ranks})) {}

Status LocalRanks::start() {
  std::string secret;
  if (!for_agent_) {
    const Result<std::uint16_t> port = free_port();
    if (!port) return port.status();
    place_.master_port = *port;
    secret = secret_for_ranks();
  }
  const auto cores = cores_for(place_.local, options_.binding);
  if (!cores) return cores.status();
  std::string preload;
  if (options_.shared_heap) {
    auto library = shared_heap_library();
    if (!library) return library.status();
    preload = std::move(*library);
  }
  for (int rank = 0; rank < place_.local; ++rank) {
    RankEnvironment environment{.place = place_, .local_rank = rank, .secret = secret, .preload = preload};
    if (!cores->empty()) environment.cores = &(*cores)[static_cast<std::size_t>(rank)];
    if (const Status started = start_one(environment); !started) return started;
  }
  return {};
}

Status LocalRanks::start_one(const RankEnvironment& environment) {
  const int rank = place_.first + environment.local_rank;
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
  const Result<pid_t> pid = start_rank(options_.command, environment, streams);
  if (!pid) return pid.status();
  members_.push_back({.pid = *pid});
  guard_.add(*pid);
  return {};
}

std::string LocalRanks::label_of(int rank, bool error) const {
  const std::string label = options_.output == Output::labelled ? fmt::format("[{}] ", rank) : "";
  return for_agent_ ? (error ? "e" : "o") + label : label;
}

int LocalRanks::wait_ms() const {
  return running() == 0 ? poll_ms_max : -1;
}

std::vector<End> LocalRanks::progress() {
  std::vector<End> ends;
  int wait_status = 0;
  for (pid_t pid; (pid = waitpid(-1, &wait_status, WNOHANG)) > 0;) {
    const auto member = std::ranges::find(members_, pid, &Member::pid);
    if (member == members_.end()) continue;  // something that a rank left behind
    member->running = false;
    ends.push_back({.rank = place_.first + static_cast<int>(member - members_.begin()), .wait_status = wait_status});
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
