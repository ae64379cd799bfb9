// CallGroup: calls that start together, on one communicator or on several, so that they cannot wait for each other in a
// circle.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "src/comm/call_arguments.hpp"
#include "src/comm/communicator.hpp"
#include "src/comm/started_calls.hpp"
#include "src/spi/status.hpp"

namespace hocket::comm {

// Thread rule: one thread.
class CallGroup {
 public:
  CallGroup() = default;
  CallGroup(const CallGroup&) = delete;
  CallGroup& operator=(const CallGroup&) = delete;
  ~CallGroup() { drop(); }

  // Checks the call and keeps it for later.
  Status add(Communicator& communicator, const CallArguments& given);
  // A send and a receive whose buffers must not overlap.
  Status add_sendrecv(Communicator& communicator, const CallArguments& send, const CallArguments& recv);
  // Carries out a sendrecv that is like the one before, see Communicator. another_call: it is to be added and run.
  static Code run_again(Communicator& communicator, const CallArguments& send, const CallArguments& recv,
                        Communicator::Ended ended);
  // The collective that `arguments` name on each of the tensors.
  Status add_list(Communicator& communicator, const CallArguments& arguments, std::span<const hocket_tensor> tensors);
  // The group will not start: start() returns the first such failure.
  void fail(const Status& why);
  // Takes the calls of a communicator out, which is about to go; if there were any, the group fails.
  void forget(const Communicator& communicator);

  void swap(CallGroup& other);
  // Ends the calls without having started them; the group is empty again.
  void drop();
  // Starts all calls or, if one failed, none. On each communicator, or family of communicators that share links,
  // collectives come first, in the order of the calls, then messages. Sends to oneself are paired with the receives
  // from oneself, then with those from any rank; Code::invalid_argument where they do not fit. The group is empty
  // afterwards, and `calls`, which must be empty, holds what was started.
  Status start(StartedCalls& calls);
  // Starts all and waits for all, on this thread.
  Status run(StartedCalls& calls);
  // As start(), for calls that are persistent: starts nothing.
  Status keep(StartedCalls& calls);

 private:
  struct Message {
    Communicator* communicator;
    CallArguments arguments;
  };
  // Stands among the prepared calls, too, as what it is if no send to oneself is paired with it.
  struct FromAny {
    Message message;
    std::shared_ptr<Operation> operation;
  };
  struct Prepared {
    Communicator* communicator;
    std::shared_ptr<Operation> operation;
    bool message;
  };

  Status pair_messages_to_self();
  Status take(StartedCalls& calls, std::vector<Communicator*>& starters);

  Status failure_;
  std::vector<Prepared> prepared_;
  std::vector<Message> to_self_, from_self_;
  std::vector<FromAny> from_any_;
};

}  // namespace hocket::comm
