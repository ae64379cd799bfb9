// How a call is to be run: directly over memory that all ranks share, or over links, and there by which algorithm. All
// ranks conclude the same from the same call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/comm/membership.hpp"
#include "src/comm/validate.hpp"
#include "src/plan/direct/path.hpp"
#include "src/plan/select.hpp"

namespace hocket::comm {

enum class CallRoute { window, host_windows, links };

// Which memory ranks share: all of them, or those of each host.
enum class SharedMemory { none, of_all, of_hosts };

// A name for an algorithm that is fit for the call keeps it from windows.
CallRoute route_of(const CallArguments& call, const CheckedCall& checked, const Membership& membership,
                   SharedMemory shared);

// Whether what is reduced must be combined in the order of the ranks.
bool is_in_rank_order(const CallArguments& call, const CheckedCall& checked, const Options& options);

// Whether a window of all ranks takes the call, if it has a direct path at all: elements are not cut, and large
// prefixes and some blocks that vary are faster over links. Of blocks whose sizes only two ranks know each goes its own
// way.
bool fits_window(const CheckedCall& call, const DirectSetting& setting, Rank size);

// What an algorithm is chosen by; the rest is the same for all calls of a communicator.
struct ChoiceKey {
  Collective collective = Collective::barrier;  // with equal blocks
  std::size_t bytes = 0;
  WireFormat wire = WireFormat::exact;
  bool in_rank_order = false;
  bool unequal = false;
  bool narrow_floats = false;

  friend bool operator==(const ChoiceKey&, const ChoiceKey&) = default;
};

ChoiceKey key_of(const CallArguments& call, const CheckedCall& checked, const Options& options);

struct Choice {
  const Algorithm* algorithm = nullptr;
  std::uint32_t id = 0;  // as the call's signature has it
};

// By select().
Choice choose(const ChoiceKey& key, const Membership& membership);
// The same for one rank of each host.
Choice choose_for_leaders(const ChoiceKey& key, const Membership& membership);

}  // namespace hocket::comm
