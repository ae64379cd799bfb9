#include "src/comm/call_route.hpp"

namespace hocket::comm {

// A function that may throw is kept away from memory that others read: what it leaves then must not be seen. Direct
// paths know blocks of equal size only, and no prefixes.
CallRoute route_of(const CallArguments& call, const CheckedCall& checked, const Choices& named, bool has_window) {
  const bool has_direct_path =
      info_of(call.collective).direct_paths && info_of(checked.signature.op).takes != Takes::function;
  const bool direct =
      has_window && has_direct_path && named.wanted(call.collective, checked.bytes) == automatic_algorithm;
  return direct ? CallRoute::direct : CallRoute::links;
}

bool is_in_rank_order(const CallArguments& call, const CheckedCall& checked, const Options& options) {
  return options.deterministic || (info_of(checked.signature.op).takes == Takes::function && !call.commutative);
}

Choice choose(const ChoiceKey& key, const Membership& membership) {
  const Options& options = membership.options();
  std::string_view wanted = options.algorithms.wanted(key.collective, key.bytes);
  if (wanted == automatic_algorithm) {
    wanted = options.tuning.wanted(options.size, membership.topology().hosts(), key.collective, key.bytes);
  }
  const Algorithm& algorithm = select_algorithm({.collective = key.collective,
                                                 .size = options.size,
                                                 .bytes = key.bytes,
                                                 .topology = membership.topology(),
                                                 .cores = membership.scarce_cores(),
                                                 .wire = key.wire,
                                                 .in_rank_order = key.in_rank_order,
                                                 .uneven = key.uneven},
                                                wanted);
  // Both ends of a message name the sender's call.
  const Algorithm& named = key.collective == Collective::recv
                               ? select_algorithm({Collective::send, options.size, key.bytes}, automatic_algorithm)
                               : algorithm;
  return {.algorithm = &algorithm, .number = number_of(named)};
}

}  // namespace hocket::comm
