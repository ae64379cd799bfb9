// Which algorithm runs a call: the one that somebody named, else that of a table, else the library's own choice.
#include "src/comm/communicator.hpp"
#include "src/comm/validate.hpp"

namespace hocket {

// Requires plans_mutex_. Mostly a call is like the one before.
const Algorithm& Communicator::choose(const CheckedCall& checked, Collective collective, bool in_rank_order) {
  const WireFormat wire = checked.signature.wire();
  const auto uneven = static_cast<bool>(checked.blocks);
  Choice& latest = latest_choice_;
  if (latest.algorithm != nullptr && latest.algorithm->collective == collective && latest.bytes == checked.bytes &&
      latest.wire == wire && latest.in_rank_order == in_rank_order && latest.uneven == uneven) {
    return *latest.algorithm;
  }
  std::string_view wanted = options().algorithms.wanted(collective, checked.bytes);
  if (wanted == automatic_algorithm) {
    wanted = options().tuning.wanted(options().size, membership().topology().hosts(), collective, checked.bytes);
  }
  const Algorithm& algorithm = select_algorithm({.collective = collective,
                                                 .size = options().size,
                                                 .bytes = checked.bytes,
                                                 .topology = membership().topology(),
                                                 .cores = membership().scarce_cores(),
                                                 .wire = wire,
                                                 .in_rank_order = in_rank_order,
                                                 .uneven = uneven},
                                                wanted);
  // Both ends of a message name the sender's call.
  const Algorithm& named = collective == Collective::recv
                               ? select_algorithm({Collective::send, options().size, checked.bytes}, "auto")
                               : algorithm;
  latest = {checked.bytes, wire, in_rank_order, uneven, number_of(named), &algorithm};
  return algorithm;
}

}  // namespace hocket
