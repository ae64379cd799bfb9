#include "src/plan/direct/path.hpp"

#include <algorithm>
#include <iterator>

#include "src/base/arithmetic.hpp"
#include "src/plan/direct/staging.hpp"

namespace hocket {
namespace {

constexpr std::size_t kib = 1024;

constexpr std::size_t pooled_grain_bytes = 16 * kib;
constexpr std::size_t staged_grain_bytes = 64 * kib;
constexpr std::size_t single_copy_grain_bytes = 512 * kib;
constexpr std::size_t single_copy_grain_bytes_of_two = 2048 * kib;  // no other member's piece waits behind one
constexpr std::size_t gpu_grain_bytes = std::size_t{1} << 62;       // parts are not cut: each is a launch
constexpr std::size_t caches_exceeded = 2;                          // half of what a call moves is gone at its end
constexpr std::size_t fetch_block_bytes_max = 128 * kib;            // one for each member stays in the cache

bool wants_single_copy(const Exchange& exchange, const DirectSetting& setting) {
  if (setting.single_copy != SingleCopy::automatic) return setting.single_copy == SingleCopy::always;
  return thresholds_of(setting).single_copy_of(exchange.collective().collective).holds(exchange.buffer_bytes_max());
}

}  // namespace

const DirectThresholds& thresholds_of(const DirectSetting& setting) {
  return setting.thresholds != nullptr ? *setting.thresholds : direct_thresholds_on_one_host(setting.shares_work, 2);
}

PlainMessages plain_messages(const DirectSetting& setting, const PlainReads& reads, std::size_t ranks) {
  const DirectThresholds& thresholds = thresholds_of(setting);
  if (setting.single_copy == SingleCopy::always) return all_plain_messages();
  if (setting.single_copy == SingleCopy::never) return {};
  PlainMessages messages{
      .reads = reads, .read_ratio_max = thresholds.read_ratio_max, .weigh_copies = weighs_copies(ranks)};
  if (ranks == 2 && !setting.shares_work) messages.bytes_min = in_place_bytes_min_of_two;
  for (std::size_t at = 0; at < std::size(collective_table); ++at) {
    const CollectiveInfo& row = collective_table[at];
    if (row.collective == Collective::send || has_unequal_blocks(row)) messages.of[at] = thresholds.single_copy[at];
  }
  return messages;
}

bool exceeds_caches(const Exchange& exchange, bool in_place, const DirectSetting& setting) {
  const bool was_just_read = exchange.combines() && in_place;
  if (setting.cache_bytes == 0 || was_just_read) return false;
  std::size_t bytes = 0;
  for (std::uint32_t member = 0; member < exchange.members(); ++member) {
    const std::size_t in = exchange.input_bytes(member), out = exchange.output_bytes(member);
    bytes += in_place ? std::max(in, out) : in + out;
  }
  return bytes >= caches_exceeded * setting.cache_bytes;
}

std::size_t exceeding_message_bytes(const DirectSetting& setting, std::size_t ranks) {
  constexpr std::size_t least = 4096 * kib;  // where some of many ranks have messages, and the others have not
  return setting.cache_bytes == 0 ? SIZE_MAX : std::max(caches_exceeded * setting.cache_bytes / (2 * ranks), least);
}

bool DirectRule::worth_mapping(std::size_t input_bytes, std::size_t output_bytes) const {
  return std::max(input_bytes, output_bytes) >= mapped_bytes_min && !one_way;
}

// A function of the call alone, so that all members choose alike.
DirectRule direct_rule(const Exchange& exchange, const DirectSetting& setting) {
  const std::uint32_t members = exchange.members();
  const std::size_t largest = exchange.input_bytes_max(), produced = exchange.output_bytes_max();
  // What one member combines or copies.
  std::size_t work = exchange.combines() ? produced * members : produced;
  // No part of a prefix is another rank's as well.
  if (exchange.collective().is_prefix() && setting.shares_work) work *= members - 1;
  const DirectThresholds& thresholds = thresholds_of(setting);
  const std::size_t one_shot_work_max = thresholds.one_shot_work_max_for(exchange.collective().collective);
  DirectRule rule{.mapped_bytes_min = thresholds.mapped_min};
  // Where each member combines a block of its own alone, they share the work already.
  const bool shared_by_blocks = !exchange.collective().is_vector();
  rule.pools_work = exchange.combines() && !shared_by_blocks && setting.shares_work && work > thresholds.alone_work_max;
  const std::size_t pool = std::min(thresholds.pool_input_max, setting.staging_bytes - direct::payload_bytes);
  rule.fits = rule.pools_work ? largest <= pool : largest <= direct::payload_bytes_max && work <= one_shot_work_max;
  rule.one_way = exchange.runs_ahead() && rule.fits && largest <= direct::one_way_bytes_max && !rule.pools_work;
  rule.plain = !rule.one_way && wants_single_copy(exchange, setting);
  return rule;
}

bool has_direct_path(const Exchange& exchange, const DirectRule& rule) {
  const CollectiveInfo& collective = exchange.collective();
  return collective.direct_paths || (collective.is_prefix() && rule.one_way);
}

// Of two members with a core each the one with the larger block holds up every round, while messages go both ways by
// themselves (docs/decisions/0079).
bool may_go_over_links(std::size_t ranks, const DirectSetting& setting) {
  return ranks == 2 && !setting.shares_work;
}

bool goes_over_links(std::size_t bytes, std::size_t ranks, const DirectSetting& setting) {
  constexpr ByteRange faster_over_links{1024 * kib, 8192 * kib};
  return may_go_over_links(ranks, setting) && faster_over_links.holds(bytes);
}

DirectPath direct_path(const Exchange& exchange, const DirectRule& rule, const Announced& announced) {
  if (exchange.rounds() == 0 || rule.one_way) return DirectPath::one_shot;
  if (announced.gpu) return DirectPath::gpu;
  if (announced.payloads) return rule.pools_work ? DirectPath::pooled : DirectPath::one_shot;
  if (announced.mapped) return DirectPath::mapped;
  return announced.plain ? DirectPath::single_copy : DirectPath::staged;
}

DirectPath foreseen_path(const Exchange& exchange, const DirectSetting& setting, bool registered,
                         bool reads_plain_memory) {
  DirectRule rule = direct_rule(exchange, setting);
  rule.plain = rule.plain && reads_plain_memory;
  Announced all{.plain = rule.plain};
  for (const std::uint32_t member : {0U, exchange.members() - 1, exchange.root()}) {  // the others are like these
    const bool mapped = registered && rule.worth_mapping(exchange.input_bytes(member), exchange.output_bytes(member));
    all.mapped = all.mapped && mapped;
    all.payloads = all.payloads && rule.has_payload() && !mapped;
  }
  return direct_path(exchange, rule, all);
}

bool has_room_for(std::size_t element_bytes, std::uint32_t members, std::size_t staging_bytes) {
  // The smallest parts are those of the staged path, of a collective that has a part for each member.
  const std::size_t room = (staging_bytes - direct::payload_bytes) / direct::rounds_in_flight;
  return element_bytes <= round_down(room / (members + 1), cache_line_bytes);
}

std::size_t grain_of(DirectPath path, const Exchange& exchange, std::size_t staging_bytes) {
  // Room for one round: every part that one member copies in, and the part that it combines.
  const std::size_t room = (staging_bytes - direct::payload_bytes) / direct::rounds_in_flight;
  switch (path) {
    case DirectPath::one_shot:
    case DirectPath::mapped: return first_grain_bytes;
    case DirectPath::gpu: return gpu_grain_bytes;
    case DirectPath::pooled: return pooled_grain_bytes;
    case DirectPath::single_copy:
      if (!exchange.combines()) {  // nothing goes through the staging areas
        return exchange.members() == 2 ? single_copy_grain_bytes_of_two : single_copy_grain_bytes;
      }
      return round_down(std::min(single_copy_grain_bytes, room / 2), cache_line_bytes);
    case DirectPath::staged:
      return round_down(std::min(staged_grain_bytes, room / (exchange.parts_per_source() + 1)), cache_line_bytes);
  }
  return first_grain_bytes;
}

std::size_t fetch_room(std::size_t staging_bytes) {
  return round_down((staging_bytes - direct::payload_bytes) / 2, cache_line_bytes);
}

std::size_t fetch_block_bytes(std::size_t staging_bytes, std::uint32_t members) {
  return std::min(fetch_block_bytes_max, round_down(fetch_room(staging_bytes) / members, cache_line_bytes));
}

}  // namespace hocket
