// Messages that start again, for callers who do not wait for them.
#include "src/exec/executor.hpp"
#include "src/exec/executor_parts.hpp"

namespace hocket {

// Mostly nothing is under way, and the message is over at once. Progress is given back with a locked instruction;
// behind that, its receiver is woken.
Started Executor::start_idle(const std::shared_ptr<Operation>& idle, const std::byte* input, std::byte* output,
                             RunEnd& end) {
  Parts& parts = *parts_;
  if (!parts.lock.take_from_rest()) {
    return parts.lock.try_take() ? start_taken(nullptr, &idle, input, output, end).started() : Started::no;
  }
  Operation& message = *idle;
  if (!parts.engine.is_over_now(message, input, output)) {
    return start_taken(nullptr, &idle, input, output, end).started();
  }
  if (!parts.lock.return_to_rest()) parts.lock.release_started(parts.engine.rest());
  if (Link* const link = message.link_to_wake(); link != nullptr) link->wake_receiver();
  return Started::over;
}

// Mostly it is one more of a row of receives.
StartedAgain Executor::start_beside(const std::shared_ptr<Operation>& latest, const std::shared_ptr<Operation>* idle,
                                    const std::byte* input, std::byte* output, RunEnd& end) {
  Parts& parts = *parts_;
  if (!parts.lock.try_take()) return {};
  const bool is_simple = (parts.lock.state() & progress::submitted) == 0 && may_start_here();
  if (!is_simple || !parts.engine.joins_row(*latest, output, end)) {
    return start_taken(&latest, idle, input, output, end);
  }
  parts.lock.release_started(true);
  return {Started::under_way, StartedAgain::by_latest | StartedAgain::kept_links};
}

// This thread has taken progress. That is given back with a locked instruction; behind that, receivers are woken.
StartedAgain Executor::start_taken(const std::shared_ptr<Operation>* latest, const std::shared_ptr<Operation>* idle,
                                   const std::byte* input, std::byte* output, RunEnd& end) {
  Parts& parts = *parts_;
  StartedAgain again;
  if (may_start_here()) again = parts.engine.start_again({latest, idle}, input, output, end);
  if (again.started() == Started::over) {
    const bool rests = again.has(StartedAgain::kept_links) && parts.lock.return_to_rest();
    if (!rests) parts.lock.release_started(parts.engine.rest());
    Operation& ended = again.has(StartedAgain::by_latest) ? **latest : **idle;
    if (Link* const link = ended.link_to_wake(); link != nullptr) link->wake_receiver();
    return again;
  }
  const bool kept_links = again.started() == Started::under_way && again.has(StartedAgain::kept_links);
  parts.lock.release_started(kept_links || parts.engine.rest());
  return again;
}

}  // namespace hocket
