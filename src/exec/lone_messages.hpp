// LoneMessages: messages that a caller brings itself, where nothing else is to be done. They run without places in the
// queue, which would cost more than many a message.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "src/exec/operation_queue.hpp"
#include "src/exec/started.hpp"

namespace hocket {

class ProgressEngine;

// A part of the engine, of whose state it needs nearly all.
class LoneMessages {
 public:
  using Messages = std::span<const std::shared_ptr<Operation>>;
  static constexpr std::size_t max = 16;  // that run at once

  explicit LoneMessages(ProgressEngine& engine) : engine_(engine) {}

  // Whether several operations may run together: they are messages that keep their order, and not too many.
  bool may_run(Messages operations) const;
  // Runs messages over links, see ProgressEngine::run_alone().
  bool run(Messages messages);
  // Begins messages behind all that was submitted before, and ends those that need not wait; or small calls over a
  // window.
  void start(Messages messages);
  // Messages of one kind that have run before: the latest one, where that is under way, and one that is idle; null:
  // there is none.
  struct Like {
    const std::shared_ptr<Operation>* latest;
    const std::shared_ptr<Operation>* idle;
  };
  // Starts one of them, behind all that was submitted before. Where it is not over at once, it begins, or waits for its
  // turn, and tells `end`; what waits may be another run of the latest one. No: that cannot be, and none is idle. The
  // receiver of what is over is still to be woken, see Operation::link_to_wake().
  StartedAgain start_again(const Like& like, const std::byte* input, std::byte* output, RunEnd& end);
  // Whether the next message that finds others in its direction looks whether these can end; else it is just counted.
  bool is_to_look() const { return (behind_others_ + 1) % behind_others_per_look == 0; }
  void count_behind_others() { ++behind_others_; }
  // What follows a message that has ended runs, up to one that must wait and has its place from then on. False: one has
  // failed, and so everything has ended.
  bool follow(OperationQueue::Entry& entry);

 private:
  static constexpr unsigned rounds_alone = 256;  // before what waits gets its place
  static constexpr unsigned behind_others_per_look = 16;

  bool ends_well(Operation& message);
  bool runs_in_row(Operation& message);
  bool runs_in_row(OperationQueue::Entry& entry);
  bool wait_for(Messages messages);
  void take_in();
  bool start_one(const std::shared_ptr<Operation>& message);
  bool start_call(const std::shared_ptr<Operation>& call);
  bool begin_behind(const std::shared_ptr<Operation>& message, bool keeps_links);
  bool begin_now(const std::shared_ptr<Operation>& message);
  bool is_free(const Operation& message) const;
  bool is_first(const Operation& message);
  StartedAgain start_idle(const std::shared_ptr<Operation>& message, const std::byte* input, std::byte* output,
                          RunEnd& end);
  StartedAgain run_once_more(const Operation& message, std::byte* output, RunEnd& end);
  void look_at_those_before();
  void break_down_at(const std::shared_ptr<Operation>& message);
  void queue_rest(Messages messages, std::size_t begun);

  ProgressEngine& engine_;
  unsigned behind_others_ = 0;  // messages that found others in their direction when they started
  unsigned looks_ = 0;          // how often links may have been made or let progress before one of these began
};

}  // namespace hocket
