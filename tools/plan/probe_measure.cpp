#include "tools/plan/probe_measure.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <functional>

#include "hocket/hocket.hpp"
#include "src/base/environment.hpp"
#include "tools/plan/probe_direct_measure.hpp"
#include "tools/plan/probe_pair.hpp"

namespace hocket {
namespace {

constexpr std::size_t streams_bytes = std::size_t{2} << 20;  // long enough for connections to reach their pace

// Binds this thread to one core, until the object's end.
class OneCore {
 public:
  explicit OneCore(int core) {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  ~OneCore() { sched_setaffinity(0, sizeof before_, &before_); }
  OneCore(const OneCore&) = delete;
  OneCore& operator=(const OneCore&) = delete;

 private:
  cpu_set_t before_{};
};

int first_core() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) return core;
  }
  return 0;
}

// That rank 0's host lets the ranks there run on: each may be bound to some of its own.
int cores_at(Communicator& world, const std::vector<std::uint64_t>& hosts) {
  cpu_set_t own;
  CPU_ZERO(&own);
  if (sched_getaffinity(0, sizeof own, &own) != 0) CPU_SET(0, &own);
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(&own), sizeof own);
  std::vector<std::uint8_t> all(hosts.size() * sizeof own);
  world.allgather(bytes, all);
  cpu_set_t together;
  CPU_ZERO(&together);
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    if (hosts[rank] != hosts.front()) continue;
    cpu_set_t one;
    std::memcpy(&one, all.data() + rank * sizeof one, sizeof one);
    CPU_OR(&together, &together, &one);
  }
  return CPU_COUNT(&together);
}

// What a call costs that does nothing.
double call_overhead() {
  std::vector<Communicator> alone = Communicator::create_local(1);
  constexpr int calls = 200;
  const auto begin = ProbeClock::now();
  for (int i = 0; i < calls; ++i) alone.front().barrier();
  return seconds_since(begin) / calls;
}

// The communicator of rank 0 and `peer`, on these two; all ranks of `world` call it.
std::optional<Communicator> pair_of(Communicator& world, int peer) {
  const std::array<std::int32_t, 2> ranks{0, peer};
  return world.subset(ranks);
}

// Whom rank 0 measures with over the network, and on its own host (0: nobody).
struct Partners {
  int far = 1, near = 0;
  Rank hosts = 1;
  int cores = 1;               // of rank 0's host
  int core = 0;                // rank 0's first
  bool near_or_first = false;  // this rank is rank 0 or `near`
};

Partners find_partners(Communicator& world) {
  const std::uint64_t own = number_of_host();
  std::vector<std::uint64_t> all(static_cast<std::size_t>(world.size()));
  world.allgather(std::span(&own, 1), all);
  Partners found;
  const auto elsewhere = std::ranges::find_if(all, [&](std::uint64_t host) { return host != all.front(); });
  if (elsewhere != all.end()) found.far = static_cast<int>(elsewhere - all.begin());
  const auto here = std::find(all.begin() + 1, all.end(), all.front());
  if (here != all.end()) found.near = static_cast<int>(here - all.begin());
  found.near_or_first = world.rank() == 0 || world.rank() == found.near;
  found.cores = cores_at(world, all);
  std::int32_t core = first_core();
  world.broadcast(std::span(&core, 1), 0);
  found.core = core;
  std::ranges::sort(all);
  found.hosts = static_cast<Rank>(std::ranges::unique(all).begin() - all.begin());
  return found;
}

class Probe {
 public:
  Probe() : overhead_(call_overhead()) {}

  ProbeFigures run() {
    Communicator tcp = group("tcp");
    const Partners partners = find_partners(tcp);
    made_.hosts = partners.hosts;
    made_.between_hosts = partners.hosts > 1;
    made_.cores = partners.cores;
    made_.tcp = links(tcp, partners.far, true);
    if (partners.near != 0) {
      made_.tcp.one_core = on_one_core("tcp", messages, partners);
      Communicator any = group("auto");
      made_.shm = links(any, partners.near, false);
      made_.shm->one_core = on_one_core("auto", messages, partners);
      if (partners.cores > 1) made_.direct = direct(partners);
    }
    if (made_.between_hosts && !environment::in_force("HOCKET_TCP_STREAMS")) made_.streams = streams(partners.far);
    tcp.barrier();
    return made_;
  }

 private:
  // Algorithms: schedules as the model describes them, or what the library takes, which is direct paths where it can.
  static constexpr const char *messages = "ring", *directly = "auto";

  static Communicator group(const std::string& transport, const std::string& how = "",
                            const std::string& algorithm = messages) {
    return Communicator::create({.timeout = std::chrono::seconds(60),
                                 .name = "hocket-plan probe, " + transport + how,
                                 .transport = transport,
                                 .algorithm = algorithm});
  }

  LinkFigures links(Communicator& world, int peer, bool memory) {
    LinkFigures made;
    if (auto comm = pair_of(world, peer)) {
      ProbePair pair(*comm);
      comm->barrier();
      const auto began = ProbeClock::now();
      made = measure_links(pair, overhead_);
      if (memory) {
        made_.copy_per_byte = repeated([&] { return pair.copy(); });
        made_.reduce_per_byte = repeated([&] { return pair.reduce(); });
      }
      made_.seconds = std::max(made_.seconds, seconds_since(began));
    }
    world.barrier();
    return made;
  }

  // Connections are made with a communicator, so each number takes one of its own.
  static std::vector<StreamsFigure> streams(int peer) {
    std::vector<StreamsFigure> made;
    for (const int number : {1, 2, 4, 8}) {
      setenv("HOCKET_TCP_STREAMS", std::to_string(number).c_str(), 1);
      Communicator world = group("tcp", fmt::format(" over {} connections", number));
      if (auto comm = pair_of(world, peer)) {
        ProbePair pair(*comm);
        made.push_back({number, repeated([&] { return pair.exchange(streams_bytes); })});
      }
      world.barrier();
    }
    unsetenv("HOCKET_TCP_STREAMS");
    return made;
  }

  // Collectives over shared memory.
  DirectFigures direct(const Partners& partners) {
    DirectFigures made;
    double spent = 0;
    const auto before = environment::in_force("HOCKET_SINGLE_COPY");
    const auto measured = [&](const char* single_copy, const std::function<void(Communicator&)>& measure) {
      setenv("HOCKET_SINGLE_COPY", single_copy, 1);
      Communicator world = group("auto", fmt::format(" without messages, single copy {}", single_copy), directly);
      if (auto comm = pair_of(world, partners.near)) {
        const auto began = ProbeClock::now();
        measure(*comm);
        spent += seconds_since(began);
      }
      world.barrier();
    };
    measured("off", [&](Communicator& pair) { made = measure_direct(pair); });
    measured("on", [&](Communicator& pair) { measure_reads(pair, made); });
    setenv("HOCKET_SINGLE_COPY", before ? before->value.c_str() : "auto", 1);
    made_.seconds = std::max(made_.seconds, spent);
    made.one_core = on_one_core("auto", directly, partners);
    return made;
  }

  // A message's way, or a small allreduce without messages: both on rank 0's core, in a group that is made there.
  static Figure on_one_core(const std::string& transport, const std::string& algorithm, const Partners& partners) {
    Figure made;
    std::optional<OneCore> bound;
    if (partners.near_or_first) bound.emplace(partners.core);
    Communicator world = group(transport, " on one core, " + algorithm, algorithm);
    if (auto comm = pair_of(world, partners.near)) {
      if (algorithm == directly) {
        made = measure_small(*comm);
      } else {
        ProbePair pair(*comm);
        made = repeated([&] { return pair.ping_pong(); });
      }
    }
    bound.reset();
    world.barrier();
    return made;
  }

  double overhead_;
  ProbeFigures made_;
};

}  // namespace

Result<std::optional<ProbeFigures>> measure_here() {
  const auto rank = environment::in_force("HOCKET_RANK"), size = environment::in_force("HOCKET_WORLD_SIZE");
  if (size && size->value == "1") return Status(Code::invalid_argument, "a probe takes 2 ranks or more");
  try {
    ProbeFigures made = Probe().run();
    return rank && rank->value == "0" ? std::optional(std::move(made)) : std::nullopt;
  } catch (const Error& error) {
    return Status(Code::aborted, error.what());
  }
}

}  // namespace hocket
