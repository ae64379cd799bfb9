#include "src/exec/two_level_operation.hpp"

#include <algorithm>
#include <utility>

namespace hocket {
namespace {

// What the parts of a collective are; nothing: there is no such part.
struct Parts {
  Collective collective;
  std::optional<Collective> to_leader, from_leader;
};

constexpr Parts all_parts[] = {
    {Collective::allreduce, Collective::reduce, Collective::broadcast},
    {Collective::reduce, Collective::reduce, std::nullopt},
    {Collective::broadcast, std::nullopt, Collective::broadcast},
    {Collective::barrier, Collective::barrier, Collective::barrier},
};

const Parts& parts_of(Collective collective) {
  return *std::ranges::find(all_parts, collective, &Parts::collective);
}

}  // namespace

TwoLevelOperation::TwoLevelOperation(std::shared_ptr<Context> context, const Key& key, const Place& place,
                                     std::shared_ptr<const Plan> plan)
    : Operation(std::move(context), place.window_use != nullptr ? place.window_use->window : nullptr, plan != nullptr),
      key_(key),
      on_host_(place.on_host) {
  const Parts& parts = parts_of(collective());
  if (place.window_use != nullptr) {
    if (parts.to_leader) to_leader_.emplace(*place.window_use, on_host_);
    if (parts.from_leader) from_leader_.emplace(*place.window_use, on_host_);
  }
  if (plan == nullptr) return;
  const bool has_output = key.between.algorithm->collective->output.is_on(key.between.rank, key.between.root);
  if (to_leader_ && !has_output) {
    scratch_ = std::make_unique<std::byte[]>(key.between.count * key.between.element_bytes);
  }
  between_.emplace(std::move(plan), place.leaders);
}

Operation* TwoLevelOperation::part(Part which) {
  const auto pointer = [](auto& one) -> Operation* { return one ? &*one : nullptr; };
  return which == Part::between ? pointer(between_) : pointer(which == to_leader ? to_leader_ : from_leader_);
}

// ---- running --------------------------------------------------------------------------------------------------------

Status TwoLevelOperation::start(const Tag& tag, Peers& peers) {
  tag_ = tag;
  peers_ = &peers;
  return begin(to_leader);
}

// Or the first one after it that there is.
Status TwoLevelOperation::begin(Part which) {
  while (which != end && part(which) == nullptr) which = static_cast<Part>(which + 1);
  part_ = which;
  if (which == end) return {};
  part(which)->bind(binding_of(which));
  return part(which)->start(tag_, *peers_);
}

bool TwoLevelOperation::advance(Counters& counters) {
  bool happened = false;
  while (!complete()) {
    Operation& part = *now();
    happened |= part.advance(counters);
    if (!part.complete()) break;
    happened = true;
    const Status status = part.failure().ok() ? begin(static_cast<Part>(part_ + 1)) : part.failure();
    if (!status.ok()) fail(status);
  }
  return happened;
}

Binding TwoLevelOperation::binding_of(Part which) const {
  const Binding& whole = binding();
  const Parts& parts = parts_of(collective());
  Binding part{.input = whole.input,
               .output = whole.output,
               .signature = {.collective = collective(),
                             .dtype = whole.signature.dtype,
                             .op = whole.signature.op,
                             .opaque_bytes = whole.signature.opaque_bytes,
                             .count = key_.between.count},
               .reduction = whole.reduction,
               .timeout = whole.timeout,
               .root = key_.leader};
  switch (which) {
    case to_leader:
      part.signature.collective = *parts.to_leader;
      part.output = leads() ? brought_together() : nullptr;
      part.reduction.divide = nullptr;  // that is the last to combine
      part.reduction.divisor = 1;
      break;
    case Part::between:
      if (to_leader_) part.input = brought_together();
      part.timeout = deadline().remaining();
      break;
    case from_leader:
      part.signature.collective = *parts.from_leader;
      if (!leads() || collective() != Collective::broadcast || key_.between.rank != key_.between.root) {
        part.input = whole.output;
      }
      break;
    case end: break;
  }
  return part;
}

void TwoLevelOperation::withdraw() {
  if (Operation* const part = now()) part->withdraw();
}

// ---- waiting --------------------------------------------------------------------------------------------------------

std::span<const Direction> TwoLevelOperation::directions() const {
  return between_ ? between_->directions() : std::span<const Direction>();
}

// Who has left has gone through all parts, so it is on this host behind this rank's leader.
bool TwoLevelOperation::can_do_without(Rank peer) const {
  switch (part_) {
    case to_leader: return from_leader_ ? to_leader_->has_gone_on(peer) : to_leader_->can_do_without(peer);
    case Part::between: return !from_leader_ || !on_host_->has(peer);
    case from_leader: return from_leader_->can_do_without(peer);
    case end: break;
  }
  return true;
}

// The other leaders, whatever this one waits for; those of this host hear of it in any case.
void TwoLevelOperation::tell_waiting(Rank missing, Rank witness) {
  Rank told = no_rank;
  for (const Direction& direction : directions()) {
    Link* const link =
        direction.peer != std::exchange(told, direction.peer) ? peers_->made_link(direction.peer) : nullptr;
    if (link != nullptr) link->tell_waiting({.tag = tag_, .missing = missing, .witness = witness});
  }
}

Operation::Missing TwoLevelOperation::missing() const {
  const Operation* const part = now();
  return part != nullptr ? part->missing() : Missing();
}

Rank TwoLevelOperation::awaited() const {
  const Operation* const part = now();
  const Rank rank = part != nullptr ? part->awaited() : no_rank;
  return rank == no_rank ? no_rank : context().rank_of(part->context().peer_of(rank));
}

}  // namespace hocket
