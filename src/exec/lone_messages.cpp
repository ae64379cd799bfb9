#include "src/exec/lone_messages.hpp"

#include <algorithm>

#include "src/exec/progress_engine.hpp"

namespace hocket {
namespace {

// By a message that begins after it in its direction: it waits for its data before the link has it.
bool may_be_overtaken(const Operation& message) {
  return !message.is_for_links_alone() && !message.directions().empty();
}

}  // namespace

bool LoneMessages::may_run(Messages operations) const {
  const auto may = [&](const auto& each) {
    return each->is_message() && !may_be_overtaken(*each) && engine_.needs_no_place(*each);
  };
  return operations.size() <= max && std::ranges::all_of(operations, may);
}

bool LoneMessages::run(Messages messages) {
  std::size_t begun = 0;
  bool all_over = true, kept_links = true;
  try {
    while (begun < messages.size()) {
      Operation& message = *messages[begun++];
      if (engine_.runs_now(message)) continue;
      if (const Status status = engine_.begin(message); !status.ok()) {
        queue_rest(messages, begun);
        engine_.break_down_for(message, status);
        return false;
      }
      all_over &= ends_well(message);
      kept_links &= message.kept_links();
    }
    if (all_over) return kept_links;
    if (wait_for(messages)) {
      return std::ranges::all_of(messages, [](const auto& message) { return message->kept_links(); });
    }
    queue_rest(messages, begun);
  } catch (...) {
    engine_.unqueued_.assign(messages.begin(), messages.end());  // there is room; some may be in the queue by now
    engine_.break_down_for_exception();
  }
  return false;
}

// Ends a message that is complete. Not where it has failed, or something has come to light: that is left to the
// engine's run().
bool LoneMessages::ends_well(Operation& message) {
  if (!message.complete() || !message.failure().ok()) return false;
  if (!engine_.nothing_came_to_light()) return false;
  Recorder::end(message);
  ProgressEngine::end_well(message);
  return true;
}

// Until all have ended. False: that takes longer, or something else is to be done.
bool LoneMessages::wait_for(Messages messages) {
  engine_.waiter_.set(engine_.budget_.load());
  for (unsigned rounds = 0; rounds < rounds_alone; ++rounds) {
    bool happened = engine_.progress_links() != 0;
    const Operation* waiting = nullptr;
    for (const auto& message : messages) {
      if (message->finished()) continue;
      message->keep_links(false);
      happened |= message->advance(message->context().counters());
      if (ends_well(*message)) continue;
      if (message->complete() || !engine_.departed_.empty()) return false;
      if (waiting == nullptr) waiting = message.get();
    }
    if (happened || waiting == nullptr) engine_.wait_no_more();
    if (waiting == nullptr) return true;
    if (!engine_.peer_failure_.ok() || progress::must_look(engine_.lock_.state())) return false;
    if (!happened && !engine_.wait_on(*waiting, Awaits::links)) return false;
  }
  return false;
}

void LoneMessages::start(Messages messages) {
  const std::shared_ptr<Operation>* now = nullptr;
  try {
    take_in();
    for (const auto& message : messages) {
      now = &message;
      if (engine_.is_broken() || !start_one(message)) break;
    }
  } catch (...) {
    now != nullptr ? break_down_at(*now) : engine_.break_down_for_exception();
  }
  for (const auto& message : messages) {
    if (engine_.is_broken() && !message->finished()) message->finish(engine_.failure_.get());
  }
}

// What was submitted before.
void LoneMessages::take_in() {
  if ((engine_.lock_.state() & progress::submitted) != 0) engine_.accept();
  if (!engine_.queue_.can_start()) return;
  ++looks_;
  engine_.start_operations();
}

bool LoneMessages::runs_in_row(Operation& message) {
  return engine_.recorder_.run_in_row([&] {
    if (!engine_.takes_now(message)) return false;
    message.finish_well();
    return true;
  });
}

StartedAgain LoneMessages::start_again(const Like& like, const std::byte* input, std::byte* output, RunEnd& end) {
  if (like.latest != nullptr) {
    const Operation& latest = **like.latest;
    const unsigned looks = looks_;
    if (const auto again = run_once_more(latest, output, end); again.started() != Started::no) return again;
    if (engine_.is_broken()) return {};
    // A look has ended its row, and none but handles was told: so it is idle.
    if (looks != looks_ && latest.finished()) {
      return start_idle(*like.latest, input, output, end).with(StartedAgain::by_latest);
    }
  }
  return like.idle != nullptr ? start_idle(*like.idle, input, output, end) : StartedAgain();
}

StartedAgain LoneMessages::start_idle(const std::shared_ptr<Operation>& message, const std::byte* input,
                                      std::byte* output, RunEnd& end) {
  bool bound = false;
  const auto bind = [&](bool follows) {
    message->bind_again(input, output);
    end.begin_for_others();
    message->tell(end, follows ? message : nullptr);
    bound = true;
  };
  try {
    const bool is_only = engine_.queue_.empty() && (engine_.lock_.state() & progress::submitted) == 0;
    const unsigned looks = looks_;
    if (!is_only) take_in();
    const bool first = is_only || is_first(*message);
    if (first && engine_.is_over_now(*message, input, output))
      return {Started::over, is_only ? StartedAgain::kept_links : 0};
    bind(!first);
    if (!engine_.is_broken()) (void)(first ? begin_now(message) : begin_behind(message, looks == looks_));
  } catch (...) {
    if (!bound) bind(false);
    break_down_at(message);
  }
  if (engine_.is_broken() && !message->finished()) message->finish(engine_.failure_.get());
  return {Started::under_way, message->kept_links() ? StartedAgain::kept_links : 0};
}

// Behind others of its kind, where nothing else is to be done: then most receives come here.
StartedAgain LoneMessages::run_once_more(const Operation& message, std::byte* output, RunEnd& end) {
  try {
    OperationQueue::Entry* row = engine_.queue_.row_of(message);
    if (row == nullptr || (engine_.lock_.state() & progress::submitted) != 0 || engine_.queue_.can_start()) return {};
    const bool looks = is_to_look();
    ++behind_others_;
    if (looks) {
      look_at_those_before();
      row = engine_.queue_.row_of(message);
    }
    if (row == nullptr) return {};
    row->followers.push_back({.output = output, .end = &end});
    end.begin_for_others();
    return {Started::under_way, StartedAgain::by_latest | (looks ? 0 : StartedAgain::kept_links)};
  } catch (...) {
    engine_.break_down_for_exception();
    return {};
  }
}

// With the exception that is being handled. The message has no place in the queue.
void LoneMessages::break_down_at(const std::shared_ptr<Operation>& message) {
  engine_.unqueued_.assign(1, message);  // there is room
  engine_.break_down_for_exception();
}

bool LoneMessages::is_free(const Operation& message) const {
  const auto used = message.directions();  // none: to this very rank
  return engine_.queue_.empty() || used.empty() || engine_.queue_.is_free(used.front());
}

// In its direction. Those before it end here now and then, if that is all they wait for: while one of them has its
// place, all behind it need theirs.
bool LoneMessages::is_first(const Operation& message) {
  if (engine_.is_broken()) return false;
  if (is_free(message)) return true;
  const bool looks = is_to_look();
  ++behind_others_;
  if (!looks) return false;
  look_at_those_before();
  return is_free(message) && !engine_.is_broken();
}

void LoneMessages::look_at_those_before() {
  ++looks_;
  if (engine_.progress_links() != 0) engine_.advance_operations();
}

// False: it could not.
bool LoneMessages::start_one(const std::shared_ptr<Operation>& message) {
  if (!message->is_message()) return start_call(message);
  if (!is_free(*message)) return begin_behind(message, false);
  if (!engine_.runs_now(*message)) return begin_now(message);
  engine_.lock_.completed();
  return true;
}

// Of a collective, which has its place in any case.
bool LoneMessages::start_call(const std::shared_ptr<Operation>& call) {
  call->number_if_collective();
  engine_.queue_.add(call, engine_.peers_->size());
  engine_.start_operations();
  engine_.advance_operations();
  return !engine_.is_broken();
}

// Behind others in its direction it follows, begins at once where nothing but messages is under way there, or waits.
// `keeps_links`: none has been made, and none let progress. False: it could not begin.
bool LoneMessages::begin_behind(const std::shared_ptr<Operation>& message, bool keeps_links) {
  if (engine_.queue_.add_follower(*message)) {
    message->keep_links(keeps_links);
    return true;
  }
  if (engine_.queue_.may_begin(message->directions().front())) return begin_now(message);
  engine_.queue_.add(message, engine_.peers_->size());
  return true;
}

// False: it could not.
bool LoneMessages::begin_now(const std::shared_ptr<Operation>& message) {
  const Status begun = engine_.begin(*message);
  if (begun.ok() && ends_well(*message)) {
    engine_.lock_.completed();
    return true;
  }
  engine_.queue_.add_begun(message, engine_.peers_->size());
  if (!begun.ok()) engine_.break_down_for(*message, begun);
  return begun.ok();
}

// The first of those that follow: receives, so nobody is to be woken.
bool LoneMessages::runs_in_row(OperationQueue::Entry& entry) {
  const OperationQueue::Follower& next = entry.followers.front();
  if (next.operation != nullptr) return runs_in_row(*next.operation);
  Operation& again = *entry.operation;
  again.move_on(nullptr, next.output);
  if (!engine_.recorder_.run_in_row([&] { return engine_.takes_now(again); })) return false;
  next.end->end_well_as(again.sequence());
  return true;
}

bool LoneMessages::follow(OperationQueue::Entry& entry) {
  while (!entry.followers.empty()) {
    if (runs_in_row(entry)) {
      entry.followers.pop_front();  // it may be gone
    } else {
      engine_.queue_.replace(entry);
      Operation& message = *entry.operation;
      const Status begun = engine_.begin(message);
      if (!begun.ok()) {
        engine_.break_down_for(message, begun);
        return false;
      }
      if (!ends_well(message)) return true;
    }
    engine_.lock_.completed();
  }
  engine_.queue_.remove(entry)->let_go();  // its latest runs were not its own
  return true;
}

void LoneMessages::queue_rest(Messages messages, std::size_t begun) {
  for (std::size_t at = 0; at < messages.size(); ++at) {
    if (messages[at]->finished()) continue;
    at < begun ? engine_.queue_.add_begun(messages[at], engine_.peers_->size())
               : engine_.queue_.add(messages[at], engine_.peers_->size());
  }
}

}  // namespace hocket
