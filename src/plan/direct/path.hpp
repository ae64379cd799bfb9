// Which direct path a call takes (docs/internals/direct-paths.md): the rules that direct operations follow, and by
// which the cost model foretells them. What they follow from is equal on all members, or announced by each, so all
// choose alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/plan/direct/exchange.hpp"
#include "src/plan/direct/thresholds.hpp"
#include "src/spi/plain_messages.hpp"

namespace hocket {

enum class DirectPath : std::uint8_t { one_shot, pooled, mapped, single_copy, staged, gpu };

// Those of host memory, which the cost model knows.
inline constexpr DirectPath all_direct_paths[] = {DirectPath::one_shot, DirectPath::pooled, DirectPath::mapped,
                                                  DirectPath::single_copy, DirectPath::staged};

// As hocket_last_call() has it.
constexpr std::string_view name_of(DirectPath path) {
  switch (path) {
    case DirectPath::one_shot: return "direct one-shot";
    case DirectPath::pooled: return "direct pooled";
    case DirectPath::mapped: return "direct mapped";
    case DirectPath::single_copy: return "direct single copy";
    case DirectPath::staged: return "direct staged";
    case DirectPath::gpu: return "direct GPU";
  }
  return "unknown path";
}

// Where plain memory is read where it lies, if it can be: `automatic` where that measured faster.
enum class SingleCopy : std::uint8_t { automatic, always, never };

// What the members of a window have in common.
struct DirectSetting {
  const DirectThresholds* thresholds = nullptr;  // of the machine class; null: as usual for two ranks on one host
  std::size_t staging_bytes = 0;                 // of each member
  bool shares_work = false;                      // members outnumber cores: any that is awake takes the next part
  SingleCopy single_copy = SingleCopy::automatic;
  std::size_t cache_bytes = 0;  // what the last caches of all members hold together; 0: not known
};

// Those of its machine class, or as usual for two ranks on one host.
const DirectThresholds& thresholds_of(const DirectSetting& setting);

// Which messages between so many ranks stay in plain memory of their sender.
PlainMessages plain_messages(const DirectSetting& setting, const PlainReads& reads, std::size_t ranks);

// Whether an output is better stored past the caches: all members' buffers are so much more than these hold that most
// of it would be gone before anybody reads it, and nothing of it was just read. `in_place`: a member's buffers overlap.
bool exceeds_caches(const Exchange& exchange, bool in_place, const DirectSetting& setting);
// The same of messages of so many bytes, while every rank sends and receives one.
std::size_t exceeding_message_bytes(const DirectSetting& setting, std::size_t ranks);

// Whether that many ranks weigh a read against the copy for another core that it saves; else against one that stays in
// the caches. Not measured with more.
constexpr bool weighs_copies(std::size_t ranks) {
  return ranks == 2;
}

// How a member announces its data.
struct DirectRule {
  std::size_t mapped_bytes_min = 0;  // registered buffers of this size are worth it
  bool fits = false;                 // inputs may go with the announcements
  bool pools_work = false;
  bool one_way = false;  // only some members need others' data, and the rest need not wait
  bool plain = false;    // single copy, if all can and want it; a member that cannot sets it to false

  // Inputs go with the announcements, unless they are mapped, or all want single copies.
  bool has_payload() const { return fits && !plain; }
  // Whether buffers of this size are announced as mapped where they are registered.
  bool worth_mapping(std::size_t input_bytes, std::size_t output_bytes) const;
};
DirectRule direct_rule(const Exchange& exchange, const DirectSetting& setting);

// Whether a direct path runs the call. One-shot alone runs prefixes, and where each member combines what others
// combine, too, that pays for small data only; the rule of the call says where.
bool has_direct_path(const Exchange& exchange, const DirectRule& rule);

// Whether collectives whose blocks vary, and whose blocks all ranks know, go over links at some sizes in spite of their
// direct paths, and whether one does; `bytes`: of all its blocks.
bool may_go_over_links(std::size_t ranks, const DirectSetting& setting);
bool goes_over_links(std::size_t bytes, std::size_t ranks, const DirectSetting& setting);

// What all members announced.
struct Announced {
  bool payloads = true;  // everyone's input lies in its announcement or staging
  bool mapped = true;    // everyone's buffers are registered
  bool plain = true;     // everyone can read everyone's plain memory, and wants to
  bool gpu = false;      // everyone's buffers lie on GPUs that reach each other
};
// One-shot also where nothing is to be moved, or data goes one way: whose data lies on a GPU then brings it to the
// host.
DirectPath direct_path(const Exchange& exchange, const DirectRule& rule, const Announced& announced);

// The path of a call whose buffers are registered on all members, or on none.
DirectPath foreseen_path(const Exchange& exchange, const DirectSetting& setting, bool registered,
                         bool reads_plain_memory);

// Whether one element fits into a part of every path: elements are not cut.
bool has_room_for(std::size_t element_bytes, std::uint32_t members, std::size_t staging_bytes);

// ---- how finely each path cuts the data -----------------------------------------------------------------------------

// Of an Exchange. That of one-shot and mapped is no function of the call, so a call can begin with it.
inline constexpr std::size_t first_grain_bytes = std::size_t{128} << 10;
std::size_t grain_of(DirectPath path, const Exchange& exchange, std::size_t staging_bytes);
// Half of what the payload slots leave, in lines: for what single copy fetches.
std::size_t fetch_room(std::size_t staging_bytes);
// What single copy fetches of a member before it combines.
std::size_t fetch_block_bytes(std::size_t staging_bytes, std::uint32_t members);

}  // namespace hocket
