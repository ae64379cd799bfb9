// What a seed decides of one run: its ranks, what they call, and what happens to them.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace hocket::chaos {

enum class Fault : std::uint8_t {
  kill,                // one rank
  kill_several,        // at the same moment
  kill_during_shrink,  // one rank, and soon after it another
  kill_beside_pause,   // one rank, while another stands still for some milliseconds
  pause,               // one rank stands still for some milliseconds: nobody may notice
  cut,                 // one of a rank's TCP connections, while all ranks live and none has been used to shrink
  stop,                // one rank stands still until the others have gone on without it
  kill_in_creation,    // one rank
  restart_store,       // the store is killed while ranks meet in it, and comes back: nobody may notice
};
inline constexpr std::array all_faults{
    Fault::kill, Fault::kill_several, Fault::kill_during_shrink, Fault::kill_beside_pause, Fault::pause,
    Fault::cut,  Fault::stop,         Fault::kill_in_creation,   Fault::restart_store};
const char* name_of(Fault fault);

// What the ranks do meanwhile.
enum class Style : std::uint8_t {
  collectives,
  messages,
  works,
  splits,
  large,
  registered,  // large, in memory that all ranks see
  idle,
  awaited_message,  // nothing but a receive
  everything,
};
const char* name_of(Style style);

struct Injection {
  Fault fault = Fault::kill;
  std::vector<int> victims;              // by their numbers in the first communicator; of a pause, the last one
  std::chrono::microseconds moment{};    // after all ranks have gone on from the fault before
  std::chrono::microseconds distance{};  // between the two events of a fault that has two
};

struct Plan {
  std::uint64_t seed = 0;
  int size = 2;
  std::string transport;  // HOCKET_TRANSPORT
  std::string hosts;      // as Ranks takes them; empty: one host
  Style style = Style::everything;
  bool single_copy = true;  // HOCKET_SINGLE_COPY
  std::chrono::milliseconds timeout{20'000};
  bool own_links = true;  // whether splits may make links of their own; not where the parent must break
  std::vector<Injection> faults;

  std::string description() const;
  // What figures call this plan's links: "tcp", "shm" or "both".
  const char* links() const;
};

Plan plan_of(std::uint64_t seed);

// Numbers that follow from a seed, the same with every standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  int between(int least, int most) {
    return least + static_cast<int>(engine_() % (static_cast<std::uint64_t>(most - least) + 1));
  }
  template <class Items>
  const auto& one_of(const Items& items) {
    return items[static_cast<std::size_t>(between(0, static_cast<int>(std::size(items)) - 1))];
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace hocket::chaos
