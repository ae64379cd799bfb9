#include "src/exec/lateness.hpp"

#include <fmt/format.h>

#include <string>

namespace hocket {

void Lateness::hear(Rank peer, const Tag& tag) {
  told_[peer] = {tag, Deadline::Clock::now()};
}

// A rank whose peers all wait themselves leaves the verdict, for a moment, to those who wait for the silent one, so
// that all learn the same cause.
std::optional<Lateness::Late> Lateness::find(OperationQueue& queue, bool& told_over_window) {
  const auto now = Deadline::Clock::now();
  for (const auto& entry : queue.running()) {
    Operation& operation = *entry.operation;
    if (operation.complete()) continue;  // it waits for nobody, though its clock may have run while it was queued
    if (now >= operation.next_telling().at()) {
      operation.tell_waiting();
      told_over_window |= entry.window != nullptr;
      operation.set_next_telling(Deadline(now + telling_interval));
    }
    if (now < operation.deadline().at()) continue;
    const auto missing = operation.missing();
    if (!missing.silent && now < operation.deadline().at() + OperationQueue::grace) continue;
    return Late{&operation, missing};
  }
  return std::nullopt;
}

Deadline Lateness::next_look(const Operation& operation) {
  const bool late = operation.deadline().passed();  // and still here: its peers wait too
  const Deadline verdict = late ? Deadline(operation.deadline().at() + OperationQueue::grace) : operation.deadline();
  return earlier(verdict, operation.next_telling());
}

Status Lateness::did_not_finish(const Late& late, const Contexts& contexts) const {
  const Operation& operation = *late.operation;
  std::string elsewhere;
  const auto told = told_.find(late.missing.peer);
  if (told != told_.end() && Deadline::Clock::now() - told->second.at < 2 * telling_interval) {
    const Tag& tag = told->second.tag;
    const bool here = tag.communicator == operation.context().number();
    if (!here || tag.call != operation.signature()) {
      elsewhere = fmt::format("; rank {} said that it waits in {}{}", late.missing.peer, describe(tag.call),
                              here ? "" : " on " + contexts.describe(tag.communicator, late.missing.peer));
    }
  }
  return Status(Cause{.code = Code::timeout,
                      .message = fmt::format("{} did not finish before its deadline: still {}{}",
                                             describe(operation.called()), late.missing.text, elsewhere),
                      .peer = late.missing.peer});
}

Status Lateness::could_not_begin(const Operation& operation) {
  return Status(Code::timeout, fmt::format("{} could not begin before its deadline: operations before it are not "
                                           "finished",
                                           describe(operation.called())));
}

}  // namespace hocket
