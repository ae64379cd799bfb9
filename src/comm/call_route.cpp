#include "src/comm/call_route.hpp"

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

}  // namespace

// A function that may throw is kept away from memory that others read: what it leaves then must not be seen. Direct
// paths know blocks of equal size only, and no prefixes.
CallRoute route_of(const CallArguments& call, const CheckedCall& checked, const Membership& membership,
                   bool has_window) {
  const bool has_direct_path =
      info_of(call.collective).direct_paths && info_of(checked.signature.op).takes != Takes::function;
  return has_window && has_direct_path && !is_named(call, checked, membership) ? CallRoute::window : CallRoute::links;
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

}  // namespace hocket::comm
