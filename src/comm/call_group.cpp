#include "src/comm/call_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "src/comm/validate.hpp"
#include "src/exec/executor.hpp"
#include "src/exec/operation.hpp"
#include "src/spi/plain_messages.hpp"

namespace hocket::comm {
namespace {

const Status not_started(Code::aborted, "its group did not start");  // made beforehand: drop() needs no memory

std::size_t message_bytes(const CallArguments& message) {
  return message.count * size_of_element(message);
}

// Both are sound by themselves.
bool overlap(const CallArguments& send, const CallArguments& recv) {
  const auto from = reinterpret_cast<std::uintptr_t>(send.send);
  const auto to = reinterpret_cast<std::uintptr_t>(recv.recv);
  return message_bytes(send) != 0 && message_bytes(recv) != 0 && from < to + message_bytes(recv) &&
         to < from + message_bytes(send);
}

std::string describe_message(const CallArguments& message) {
  const auto dtype = static_cast<DataType>(message.dtype);
  return fmt::format("{} of {} {}", name_of(message.collective), message.count,
                     describe_type(dtype, size_of_element(message)));
}

// What copies a message of this rank to itself. Code::invalid_argument where its halves do not fit.
Result<std::shared_ptr<Operation>> copy_to_self(Communicator& communicator, const CallArguments& send,
                                                const CallArguments& recv) {
  if (send.count != recv.count || send.dtype != recv.dtype || size_of_element(send) != size_of_element(recv)) {
    return Status(Code::invalid_argument,
                  fmt::format("a message of rank {} to itself does not fit: {}, but {}", communicator.rank(),
                              describe_message(send), describe_message(recv)));
  }
  if (overlap(send, recv)) {
    return Status(Code::invalid_argument, fmt::format("the buffers of a message of rank {} to itself overlap: {}",
                                                      communicator.rank(), describe_message(send)));
  }
  if (recv.source != nullptr) *recv.source = communicator.rank();
  return communicator.prepare_to_self(send, recv);
}

}  // namespace

void CallGroup::fail(const Status& why) {
  if (failure_.ok()) failure_ = why;
}

Status CallGroup::add(Communicator& communicator, const CallArguments& given) {
  CallArguments arguments = given;
  arguments.in_group = true;
  if (is_message(arguments) && !arguments.from_any && arguments.root == communicator.rank()) {
    const Status broken = communicator.status();
    const Status sound = broken.ok() ? validate(arguments, communicator.rank(), communicator.size()).status() : broken;
    if (!sound.ok()) return sound;
    auto& messages = arguments.collective == Collective::send ? to_self_ : from_self_;
    messages.push_back({&communicator, arguments});
    return {};
  }
  auto operation = communicator.prepare(arguments);
  if (!operation.ok()) return operation.status();
  if (arguments.from_any) from_any_.push_back({{&communicator, arguments}, *operation});
  prepared_.push_back({&communicator, std::move(*operation), is_message(arguments)});
  return {};
}

Status CallGroup::add_sendrecv(Communicator& communicator, const CallArguments& send, const CallArguments& recv) {
  const std::pair<const char*, Rank> ends[] = {{"to", send.root}, {"from", recv.root}};
  for (const auto& [name, peer] : ends) {
    if (peer >= 0 && peer < communicator.size()) continue;
    return {Code::invalid_argument, fmt::format("sendrecv: {} is {}; with {} ranks it must be 0 … {}", name, peer,
                                                communicator.size(), communicator.size() - 1)};
  }
  const std::size_t before = prepared_.size();
  if (Status status = add(communicator, send); !status.ok()) return status;
  if (Status status = add(communicator, recv); !status.ok()) return status;
  const bool both_prepared = prepared_.size() == before + 2;
  if (both_prepared && receive_begins_first(prepared_.back().operation->signature())) {
    std::swap(prepared_[before], prepared_.back());
  }
  if (!overlap(send, recv)) return {};
  return {Code::invalid_argument, "sendrecv: send and recv overlap; it has no in-place form"};
}

Code CallGroup::run_again(Communicator& communicator, const CallArguments& send, const CallArguments& recv,
                          Communicator::Ended ended) {
  return overlap(send, recv) ? another_call : communicator.run_again(send, recv, ended);
}

Status CallGroup::add_list(Communicator& communicator, const CallArguments& arguments,
                           std::span<const hocket_tensor> tensors) {
  auto operations = communicator.prepare_list(arguments, tensors);
  if (!operations.ok()) return operations.status();
  for (auto& operation : *operations) prepared_.push_back({&communicator, std::move(operation), false});
  return {};
}

void CallGroup::forget(const Communicator& communicator) {
  const auto of_it = [&](const auto& call) { return call.communicator == &communicator; };
  for (const Prepared& call : prepared_) {
    if (of_it(call)) call.operation->finish(Status(Code::aborted, "its communicator was destroyed"));
  }
  std::erase_if(from_any_, [&](const FromAny& receive) { return of_it(receive.message); });
  const auto forgotten =
      std::erase_if(prepared_, of_it) + std::erase_if(to_self_, of_it) + std::erase_if(from_self_, of_it);
  if (forgotten > 0) {
    fail({Code::invalid_argument, "a communicator was destroyed before the group that holds calls on it was ended"});
  }
}

void CallGroup::swap(CallGroup& other) {
  std::swap(failure_, other.failure_);
  prepared_.swap(other.prepared_);
  to_self_.swap(other.to_self_);
  from_self_.swap(other.from_self_);
  from_any_.swap(other.from_any_);
}

void CallGroup::drop() {
  for (const Prepared& call : prepared_) call.operation->finish(not_started);
  prepared_.clear();
  to_self_.clear();
  from_self_.clear();
  from_any_.clear();
  failure_ = Status();
}

// The k-th send of each communicator with its k-th receive from this rank; those left over with receives from any.
Status CallGroup::pair_messages_to_self() {
  const auto alone = [](const Message& message) {
    const Rank rank = message.communicator->rank();
    return Status(Code::invalid_argument, fmt::format("a {} between rank {} and itself has no counterpart among "
                                                      "the calls that start with it",
                                                      describe_message(message.arguments), rank));
  };
  for (const Message& sent : to_self_) {
    if (const auto found = std::ranges::find(from_self_, sent.communicator, &Message::communicator);
        found != from_self_.end()) {
      auto copy = copy_to_self(*sent.communicator, sent.arguments, found->arguments);
      if (!copy.ok()) return copy.status();
      prepared_.insert(prepared_.begin(), {sent.communicator, std::move(*copy), true});  // the last call stays the last
      from_self_.erase(found);
      continue;
    }
    const auto of_it = [&](const FromAny& receive) { return receive.message.communicator == sent.communicator; };
    const auto found = std::ranges::find_if(from_any_, of_it);
    if (found == from_any_.end()) return alone(sent);
    auto copy = copy_to_self(*sent.communicator, sent.arguments, found->message.arguments);
    if (!copy.ok()) return copy.status();
    std::ranges::find(prepared_, found->operation, &Prepared::operation)->operation = std::move(*copy);
    from_any_.erase(found);
  }
  for (const FromAny& receive : from_any_) {
    if (receive.message.communicator->size() == 1) return alone(receive.message);
  }
  return from_self_.empty() ? Status() : alone(from_self_.front());
}

// The calls by what runs them, collectives first, and a communicator that starts each part; none where something
// failed.
Status CallGroup::take(StartedCalls& calls, std::vector<Communicator*>& starters) {
  if (failure_.ok()) failure_ = pair_messages_to_self();
  for (const Prepared& call : prepared_) {
    if (failure_.ok()) failure_ = call.communicator->status();
  }
  const Status status = failure_;
  std::vector<StartedCalls::Group> groups;
  for (const bool messages : {false, true}) {
    for (Prepared& call : prepared_) {
      if (call.message != messages || !status.ok()) continue;
      Executor* const executor = &call.communicator->executor();
      auto group = std::ranges::find(groups, executor, &StartedCalls::Group::executor);
      if (group == groups.end()) {
        starters.push_back(call.communicator);
        group = groups.insert(group, {executor, {}});
      }
      group->operations.push_back(call.operation);
    }
  }
  if (status.ok()) {
    calls.set(std::move(groups));
    prepared_.clear();
  }
  drop();
  return status;
}

// A communicator that breaks meanwhile ends its operations with the cause, which waiting for them returns.
namespace {

// Each part, by its communicator. What an exception keeps from starting is as it was before.
void start_all(const StartedCalls& calls, const std::vector<Communicator*>& starters) {
  calls.allow_callback();
  std::size_t at = 0;
  try {
    for (; at < starters.size(); ++at) (void)starters[at]->start(calls.part(at).operations);
  } catch (...) {
    for (++at; at < starters.size(); ++at) {
      for (const auto& operation : calls.part(at).operations) operation->take_back();
    }
    throw;
  }
}

}  // namespace

Status CallGroup::start(StartedCalls& calls) {
  std::vector<Communicator*> starters;
  if (Status status = take(calls, starters); !status.ok()) return status;
  start_all(calls, starters);
  return {};
}

Status CallGroup::run(StartedCalls& calls) {
  std::vector<Communicator*> starters;
  if (Status status = take(calls, starters); !status.ok()) return status;
  if (starters.size() == 1) return starters.front()->run(calls.part(0).operations);
  start_all(calls, starters);
  return calls.wait(Deadline::never());
}

Status CallGroup::keep(StartedCalls& calls) {
  std::vector<Communicator*> starters;
  return take(calls, starters);
}

}  // namespace hocket::comm
