// How messages run that a caller brings itself, where nothing else is to be done: without places in the queue.
#include <algorithm>

#include "src/exec/progress_engine.hpp"

namespace hocket {
namespace {

using Messages = std::span<const std::shared_ptr<Operation>>;

}  // namespace

bool ProgressEngine::needs_no_places(Messages operations) const {
  if (operations.size() == 1) return needs_no_place(*operations.front());
  return operations.size() <= alone_max && std::ranges::all_of(operations, [&](const auto& operation) {
           return operation->is_message() && needs_no_place(*operation);
         });
}

bool ProgressEngine::run_messages(Messages messages) {
  std::size_t begun = 0;
  try {
    while (begun < messages.size()) {
      Operation& message = *messages[begun++];
      if (const Status status = begin_message(message); !status.ok()) {
        queue_rest(messages, begun);
        break_down_for(message, status);
        return false;
      }
      (void)ends_well(message);
    }
    if (all_finished(messages) || wait_for(messages)) {
      return std::ranges::all_of(messages, [](const auto& message) { return message->kept_links(); });
    }
    queue_rest(messages, begun);
  } catch (...) {
    if (queue_.empty()) unqueued_.assign(messages.begin(), messages.end());  // there is room
    break_down_for_exception();
  }
  return false;
}

Status ProgressEngine::begin_message(Operation& message) {
  message.number_if_message();
  const Tag tag = message.tag();
  recorder_.begin(message, tag);
  return message.begin(tag, *peers_);
}

// Ends a message that is complete. Not where it has failed, or where something has come to light that concerns
// everything: that is left to run().
bool ProgressEngine::ends_well(Operation& message) {
  if (!message.complete() || !message.failure().ok() || !peer_failure_.ok() || !departed_.empty()) return false;
  Recorder::end(message);
  count(message);
  message.finish_well();
  return true;
}

// Until all have ended. False: that takes longer, or something else is to be done.
bool ProgressEngine::wait_for(Messages messages) {
  waiter_.set(budget_.load());
  for (unsigned rounds = 0; rounds < rounds_alone; ++rounds) {
    bool happened = progress_links() != 0;
    const Operation* waiting = nullptr;
    for (const auto& message : messages) {
      if (message->finished()) continue;
      message->keep_links(false);
      happened |= message->advance(message->context().counters());
      if (ends_well(*message)) continue;
      if (message->complete() || !departed_.empty()) return false;
      if (waiting == nullptr) waiting = message.get();
    }
    if (happened || waiting == nullptr) wait_no_more();
    if (waiting == nullptr) return true;
    if (!peer_failure_.ok() || progress::must_look(lock_.state())) return false;
    if (!happened && !wait_on(*waiting, in_memory_)) return false;
  }
  return false;
}

void ProgressEngine::start_messages(Messages messages) {
  const std::shared_ptr<Operation>* now = nullptr;
  try {
    if ((lock_.state() & progress::submitted) != 0) accept();
    if (queue_.can_start()) start_operations();
    for (const auto& message : messages) {
      now = &message;
      if (is_broken() || !start_message(message)) break;
    }
  } catch (...) {
    if (now != nullptr) unqueued_.assign(1, *now);  // there is room
    break_down_for_exception();
  }
  for (const auto& message : messages) {
    if (is_broken() && !message->finished()) message->finish(failure_.get());
  }
}

// It begins at once where nothing but messages is under way in its direction. False: it could not.
bool ProgressEngine::start_message(const std::shared_ptr<Operation>& message) {
  const auto used = message->directions();  // none: to this very rank
  if (!used.empty() && !queue_.may_begin(used.front())) {
    queue_.add(message, peers_->size());
    return true;
  }
  const Status begun = begin_message(*message);
  if (begun.ok() && ends_well(*message)) {
    lock_.completed();
    return true;
  }
  queue_.add_begun(message, peers_->size());
  if (!begun.ok()) break_down_for(*message, begun);
  return begun.ok();
}

void ProgressEngine::queue_rest(Messages messages, std::size_t begun) {
  for (std::size_t at = 0; at < messages.size(); ++at) {
    if (messages[at]->finished()) continue;
    at < begun ? queue_.add_begun(messages[at], peers_->size()) : queue_.add(messages[at], peers_->size());
  }
}

}  // namespace hocket
