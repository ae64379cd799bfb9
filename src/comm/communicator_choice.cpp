// Which algorithm runs a call: by name, table or thresholds, and by what earlier calls have shown. What a call's turn
// is follows from how many calls of its kind were submitted before, which is the same on all ranks; what the ranks
// measured reaches all of them by an exchange of the library's own, submitted just before the first call that depends
// on it. A rank that runs ahead of the exchange does not wait for it: such calls are postponed in the executor's queue
// (docs/decisions/0018-calls-wait-for-verdicts.md).
#include <algorithm>

#include "src/base/log.hpp"
#include "src/comm/communicator.hpp"
#include "src/comm/validate.hpp"
#include "src/exec/reduce.hpp"

namespace hocket {
namespace {

// Adds what a call took to the measurements of its round. The driver alone touches these until the round is exchanged.
class Measured final : public RunObserver {
 public:
  Measured(std::shared_ptr<Refinement::Round> round, Refinement::Side side, const Options& options)
      : round_(std::move(round)), side_(side), options_(options) {}

  void finished(std::string_view algorithm, double seconds) override {
    round_->seconds[side_].push_back(options_.measure ? options_.measure(algorithm, seconds) : seconds);
  }

 private:
  const std::shared_ptr<Refinement::Round> round_;
  const Refinement::Side side_;
  const Options& options_;
};

}  // namespace

// Requires plans_mutex_. Mostly a call is like the one before.
const Algorithm& Communicator::choose(const CheckedCall& checked, Collective collective, bool in_rank_order,
                                      bool refined) {
  const WireFormat wire = checked.signature.wire();
  const auto uneven = static_cast<bool>(checked.blocks);
  Choice& latest = latest_choice_;
  if (latest.algorithm != nullptr && latest.algorithm->collective == collective && latest.bytes == checked.bytes &&
      latest.wire == wire && latest.in_rank_order == in_rank_order && latest.uneven == uneven &&
      latest.refined == refined) {
    return *latest.algorithm;
  }
  std::string_view wanted = options_.algorithms.wanted(collective, checked.bytes);
  if (wanted == automatic_algorithm) {
    wanted = options_.tuning.wanted(options_.size, topology_.hosts(), collective, checked.bytes);
  }
  const Algorithm& selected = select_algorithm({.collective = collective,
                                                .size = options_.size,
                                                .bytes = checked.bytes,
                                                .topology = topology_,
                                                .cores = scarce_cores_,
                                                .wire = wire,
                                                .in_rank_order = in_rank_order,
                                                .uneven = uneven},
                                               wanted);
  const Algorithm& algorithm =
      refined ? *refinement_->known(collective, std::max<std::size_t>(checked.bytes, 1)) : selected;
  // Both ends of a message name the sender's call.
  const Algorithm& named = collective == Collective::recv
                               ? select_algorithm({Collective::send, options_.size, checked.bytes}, "auto")
                               : algorithm;
  latest = {checked.bytes, wire, in_rank_order, uneven, refined, number_of(named), &algorithm};
  return algorithm;
}

void Communicator::begin_refinement() {
  refinement_ = std::make_unique<Refinement>([this](Collective collective, std::size_t bytes) {
    return contenders_for(
        {.collective = collective,
         .size = options_.size,
         .bytes = bytes,
         .topology = topology_,
         .cores = scarce_cores_},
        [&](std::size_t size) { return options_.tuning.wanted(options_.size, topology_.hosts(), collective, size); });
  });
}

// Whether other algorithms may run the call, as far as all ranks know it: one that nobody has named, exact, with blocks
// of one size, and not the library's own.
bool Communicator::may_refine(const CheckedCall& checked) const {
  const Signature& signature = checked.signature;
  const Collective collective = signature.collective;
  if (collective == Collective::send || signature.root == no_rank || checked.blocks) return false;
  if (checked.bytes == 0 && collective != Collective::barrier) return false;
  return signature.wire() == WireFormat::exact &&
         options_.algorithms.wanted(collective, checked.bytes) == automatic_algorithm;
}

// The operations in their order, with algorithms as their turns have it, and before them what has to be exchanged.
std::vector<std::shared_ptr<Operation>> Communicator::refined(Executor::Operations operations) {
  std::vector<std::shared_ptr<Operation>> all;
  const bool any =
      std::ranges::any_of(operations, [](const auto& operation) { return operation->refined_bytes() != 0; });
  if (!any) return {operations.begin(), operations.end()};
  const std::lock_guard lock(plans_mutex_);
  for (const auto& operation : operations) {
    if (operation->refined_bytes() != 0) {
      auto& call = static_cast<ScheduleOperation&>(*operation);  // others have none
      const Signature& signature = call.signature();
      const Refinement::Turn turn = refinement_->next({.collective = signature.collective,
                                                       .bytes = call.refined_bytes(),
                                                       .dtype = signature.dtype,
                                                       .op = signature.op,
                                                       .root = signature.root});
      if (turn.exchanged) all.push_back(exchange_of(turn.exchanged, call.timeout()));
      call.set_observer(turn.measured ? std::make_shared<Measured>(turn.measured, turn.side, options_) : nullptr);
      if (const Algorithm* algorithm = refined_algorithm(turn)) {
        use_algorithm(call, *algorithm);
      } else {
        call.postpone(all_directions(), [this, turn](ScheduleOperation& started) {
          const std::lock_guard deciding(plans_mutex_);
          use_algorithm(started, *refined_algorithm(turn));  // the exchange was before it on every link
        });
      }
    }
    all.push_back(operation);
  }
  return all;
}

// Requires plans_mutex_. Every rank's measurements of a round, as the largest of any rank. It begins when all calls of
// the round are finished here, as it waits for all that uses links.
std::shared_ptr<Operation> Communicator::exchange_of(std::shared_ptr<Refinement::Round> round,
                                                     std::chrono::nanoseconds timeout) {
  constexpr std::size_t count = 2;
  const hocket::Call call{.collective = Collective::allreduce,
                          .size = options_.size,
                          .bytes = count * sizeof(double),
                          .topology = topology_,
                          .cores = scarce_cores_};
  const Algorithm& algorithm = select_algorithm(call, automatic_algorithm);
  auto operation = operation_for({.algorithm = &algorithm,
                                  .rank = options_.rank,
                                  .size = options_.size,
                                  .count = count,
                                  .element_bytes = sizeof(double),
                                  .placement = Placement::in_place,
                                  .topology = topology_});
  auto seconds = std::make_shared<std::array<double, count>>();
  auto* const data = reinterpret_cast<std::byte*>(seconds->data());
  operation->bind({.input = data,
                   .output = data,
                   .signature = {.collective = Collective::allreduce,
                                 .dtype = DataType::float64,
                                 .op = ReduceOp::max,
                                 .algorithm = number_of(algorithm),
                                 .root = no_rank,
                                 .count = count},
                   .reduction = reduction_for(DataType::float64, ReduceOp::max, options_.size),
                   .timeout = timeout});
  operation->postpone(all_directions(), [round, seconds](ScheduleOperation&) { *seconds = round->medians(); });
  exchanges_.push_back({operation, std::move(round), std::move(seconds)});
  return operation;
}

// Requires plans_mutex_. Null: not known yet.
const Algorithm* Communicator::refined_algorithm(const Refinement::Turn& turn) {
  while (!exchanges_.empty() && exchanges_.front().operation->finished()) {
    const Exchange& done = exchanges_.front();
    if (done.operation->status().ok()) refinement_->agree(*done.round, *done.seconds);
    exchanges_.erase(exchanges_.begin());
  }
  const Algorithm* algorithm = refinement_->algorithm(turn);
  for (const Refinement::Verdict& verdict : refinement_->take_verdicts()) {
    latest_choice_ = {};
    if (options_.rank == 0) log::info(describe(verdict));
  }
  return algorithm;
}

// Requires plans_mutex_.
void Communicator::use_algorithm(ScheduleOperation& operation, const Algorithm& algorithm) {
  PlanKey key = operation.plan().key;
  if (key.algorithm == &algorithm) return;
  key.algorithm = &algorithm;
  operation.set_plan(plans_.get(key));
  operation.set_transports(link_set_->mesh().transports_of(operation.directions()));
}

// Of a communicator that refines: it shares its links with no other.
std::vector<Direction> Communicator::all_directions() const {
  std::vector<Direction> all;
  for (Rank peer = 0; peer < options_.size; ++peer) {
    for (const bool outgoing : {false, true}) {
      if (peer != options_.rank) all.push_back({.peer = peer, .outgoing = outgoing});
    }
  }
  return all;
}

}  // namespace hocket
