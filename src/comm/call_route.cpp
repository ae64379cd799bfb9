#include "src/comm/call_route.hpp"

#include <numeric>
#include <vector>

#include "src/plan/algorithm_id.hpp"

namespace hocket::comm {

namespace {

// What all ranks know of a call.
Call call_of(const ChoiceKey& key, const Membership& membership) {
  return {.collective = key.collective,
          .size = membership.size(),
          .bytes = key.bytes,
          .topology = membership.topology(),
          .cores = membership.scarce_cores(),
          .wire = key.wire,
          .in_rank_order = key.in_rank_order,
          .unequal = key.unequal,
          .narrow_floats = key.narrow_floats,
          .speed = membership.network_speed()};
}

bool is_named(const CallArguments& call, const CheckedCall& checked, const Membership& membership) {
  const Options& options = membership.options();
  if (options.algorithms.empty()) return false;
  const ChoiceKey key = key_of(call, checked, options);
  return named_algorithm(call_of(key, membership), options.algorithms) != nullptr;
}

// Measured on two cores with 4 hosts of 4 ranks (docs/performance/figures.md): with more, the rails of the schedules of
// two levels share what a leader would have to do alone.
bool gains_by_host_windows(Collective collective, std::size_t bytes) {
  constexpr std::size_t kib = 1024;
  switch (collective) {
    case Collective::allreduce: return bytes <= 512 * kib;
    case Collective::broadcast:
    case Collective::reduce: return bytes <= 32 * kib;
    case Collective::barrier: return true;
    default: return false;
  }
}

}  // namespace

// A function that may throw is kept away from memory that others read: what it leaves then must not be seen.
CallRoute route_of(const CallArguments& call, const CheckedCall& checked, const Membership& membership,
                   SharedMemory shared) {
  const CollectiveInfo& info = info_of(call.collective);
  const bool knows_direct_paths = info.direct_paths || info.is_prefix() || info.has_unequal_blocks();
  const bool has_direct_path = knows_direct_paths && info_of(checked.signature.op).takes != Takes::function;
  if (shared == SharedMemory::none || !has_direct_path) return CallRoute::links;
  if (shared == SharedMemory::of_hosts) {
    const bool keeps_order = info.reduces() && is_in_rank_order(call, checked, membership.options());
    const bool is_exact = checked.signature.wire == WireFormat::exact;
    if (keeps_order || !is_exact || !gains_by_host_windows(call.collective, checked.bytes)) return CallRoute::links;
  }
  if (is_named(call, checked, membership)) return CallRoute::links;
  return shared == SharedMemory::of_all ? CallRoute::window : CallRoute::host_windows;
}

bool fits_window(const CheckedCall& call, const DirectSetting& setting, Rank size) {
  const Signature& signature = call.signature;
  const CollectiveInfo& collective = info_of(signature.collective);
  const auto members = static_cast<std::uint32_t>(size);
  if (call.blocks && !collective.all_know_blocks()) return true;
  if (call.blocks && goes_over_links(call.bytes, members, setting)) return false;
  const bool has_room =
      signature.dtype != DataType::opaque || has_room_for(size_of(signature), members, setting.staging_bytes);
  if (!has_room || !collective.is_prefix()) return has_room;
  const Exchange exchange(signature, 0, members, first_grain_bytes);
  return has_direct_path(exchange, direct_rule(exchange, setting));
}

bool is_in_rank_order(const CallArguments& call, const CheckedCall& checked, const Options& options) {
  return options.deterministic || (info_of(checked.signature.op).takes == Takes::function && !call.commutative);
}

ChoiceKey key_of(const CallArguments& call, const CheckedCall& checked, const Options& options) {
  return {.collective = info_of(call.collective).equal_blocks,
          .bytes = checked.bytes,
          .wire = checked.signature.wire,
          .in_rank_order = is_in_rank_order(call, checked, options),
          .unequal = static_cast<bool>(checked.blocks),
          .narrow_floats =
              info_of(call.collective).reduces() && is_rounded_in_sums(checked.signature.dtype, checked.signature.op)};
}

Choice choose(const ChoiceKey& key, const Membership& membership) {
  const Options& options = membership.options();
  const Algorithm& algorithm = *select(call_of(key, membership), options.algorithms, options.tuning).algorithm;
  return {.algorithm = &algorithm, .id = id_of(algorithm)};
}

Choice choose_for_leaders(const ChoiceKey& key, const Membership& membership) {
  std::vector<std::uint32_t> hosts(static_cast<std::size_t>(membership.topology().hosts()));
  std::iota(hosts.begin(), hosts.end(), 0U);
  Call call = call_of(key, membership);
  call.size = membership.topology().hosts();
  call.topology = Topology(hosts);
  return {.algorithm = select(call, {}, membership.options().tuning).algorithm, .id = host_windows_id};
}

}  // namespace hocket::comm
