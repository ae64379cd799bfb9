#include "src/exec/operation.hpp"

namespace hocket {
namespace {

constexpr std::chrono::milliseconds first_telling_after{200};

}  // namespace

void Operation::bind(const Binding& binding) {
  binding_ = binding;
  began_ = Deadline::Clock::now();
  deadline_ = Deadline(began_ + binding.timeout);
  next_telling_ = Deadline(began_ + first_telling_after);
  failure_ = Status();
  status_ = Status();
  finished_.store(false, std::memory_order_relaxed);
}

void Operation::finish(const Status& status) {
  status_ = status;
  finished_.store(true, std::memory_order_release);
}

double Operation::elapsed_seconds() const {
  return std::chrono::duration<double>(Deadline::Clock::now() - began_).count();
}

bool Operation::must_wait_for(const Operation& earlier) const {
  if (window() != nullptr && window() == earlier.window()) return true;
  for (const Channel& mine : channels()) {
    for (const Channel& theirs : earlier.channels()) {
      if (mine.peer == theirs.peer && mine.outgoing == theirs.outgoing) return true;
    }
  }
  return false;
}

}  // namespace hocket
