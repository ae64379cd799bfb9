#include "src/exec/direct/direct_operation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "src/exec/direct/board.hpp"
#include "src/exec/direct/combine.hpp"

namespace hocket {
DirectOperation::DirectOperation(WindowUse& use, std::shared_ptr<Context> context)
    : Operation(std::move(context)),
      use_(use),
      members_(use.window->size()),
      self_(use.window->self()),
      announcements_(members_),
      mapped_inputs_(members_),
      mapped_outputs_(members_) {
  sources_.reserve(members_);
  targets_.reserve(members_);
  use_.heard.resize(members_);
}

Status DirectOperation::start(const Tag&, Peers&) {
  use_.window->tidy();  // one operation at a time runs over a window
  turn_ = ++use_.turn;
  next_member_ = 0;
  own_next_ = copied_in_ = combined_ = copied_out_ = 0;
  std::uint32_t root = 0;
  while (root + 1 < members_ && use_.window->rank_of(root) != binding().root) ++root;
  exchange_ = Exchange(binding().signature, root, members_, first_grain_bytes);
  const std::uint32_t communicator = context().number() & Announcement::communicator_max;
  use_.call(turn_) = {binding().signature, communicator,
                      Announcement::digest_after(use_.call(turn_ - 1).digest, binding().signature, communicator)};
  rule_ = direct_rule(exchange_, setting(), use_.window->reads_plain_memory());
  phase_ = Phase::announce;
  return {};
}

bool DirectOperation::advance(Counters& counters) {
  bool announced = false;  // something happened: whoever is about to sleep owes the others a waking
  switch (phase_) {
    case Phase::announce:
      if (!may_announce()) return false;
      announce(counters);
      announced = true;
      phase_ = Phase::gather;
      [[fallthrough]];
    case Phase::gather:
      if (!read_announcements()) {
        if (polls_to_waking_ >= 0 && polls_to_waking_-- == 0) use_.window->wake_others();
        return announced;
      }
      settle_waking();
      choose_path();
      return true;
    case Phase::one_shot: run_one_shot(); return true;
    case Phase::pooled: return advance_pooled();
    case Phase::mapped: return advance_mapped(counters);
    case Phase::mapped_end:
      if (!mapped_finished()) return false;
      phase_ = Phase::done;
      return true;
    case Phase::staged: return advance_staged(counters);
    case Phase::done: break;
  }
  return false;
}

// ---- the path -------------------------------------------------------------------------------------------------------

void DirectOperation::choose_path() {
  std::uint64_t all = ~std::uint64_t{0};
  bool payloads = true;
  for (const Announcement& announcement : announcements_) {
    all &= announcement.flags;
    payloads &= (announcement.flags & (Announcement::inlined | Announcement::staged)) != 0;
  }
  const DirectPath path = direct_path(
      exchange_, rule_,
      {.payloads = payloads, .mapped = (all & Announcement::mapped) != 0, .plain = (all & Announcement::plain) != 0});
  path_ = name_of(path);
  if (exchange_.rounds() == 0) {  // everybody has announced, and nothing is to be moved
    phase_ = Phase::done;
    return;
  }
  switch (path) {
    case DirectPath::one_shot: phase_ = Phase::one_shot; break;
    case DirectPath::pooled: begin_pooled(); break;
    case DirectPath::mapped: begin_mapped(); break;
    case DirectPath::single_copy:
    case DirectPath::staged: single_copy_ = path == DirectPath::single_copy; begin_staged();
  }
}

// ---- one-shot -------------------------------------------------------------------------------------------------------

void DirectOperation::run_one_shot() {
  for (std::size_t round = 0; round < exchange_.rounds(); ++round) {
    for (std::uint32_t index = 0; index < exchange_.parts(); ++index) {
      const Part part = exchange_.part(round, index);
      if (part.bytes == 0 || !part.goes_to(self_)) continue;
      sources_.clear();
      for (std::uint32_t member = 0; member < members_; ++member) {
        if (part.comes_from(member)) sources_.push_back(payload_of(member) + part.source_offset);
      }
      std::byte* target = binding().output + part.target_offset;
      combine(binding().reduction, sources_, {&target, 1}, part.bytes);
    }
  }
  phase_ = Phase::done;
}

}  // namespace hocket
