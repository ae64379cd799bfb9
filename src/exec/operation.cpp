#include "src/exec/operation.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace hocket {
namespace {

constexpr std::chrono::milliseconds first_telling_after{200};

}  // namespace

std::atomic<std::uint64_t> Manner::numbers_{0};

void Operation::bind(const Binding& binding, bool persistent) {
  binding_ = binding;
  persistent_ = may_be_asked_ = persistent;
  bound_anew_ = true;
  can_move_ = !binding.user && !binding.staging && !binding.device;
  collective_over_links_ = uses_links_ && !is_message();
  if (!persistent) restart();
}

void Operation::number_message() {
  const auto used = directions();
  if (used.empty()) return;
  sequence_ = ++context_->latest_message(used[0]);
  detail_.peer = used[0].peer;
}

bool Operation::stage() {
  if (!binding_.staging->gather()) {
    fail({Code::out_of_resources, "memory ran out for data that is packed before it is sent"});
    return false;
  }
  binding_.input = binding_.staging->input();
  if (binding_.staging->has_output()) binding_.output = binding_.staging->output();
  return true;
}

void Operation::leave_staging(const Status& status) {
  if (status.ok()) binding_.staging->scatter();
  if (!persistent_) binding_.staging.reset();
}

void Operation::finish(const Status& status) {
  status_ = status;
  if (binding_.staging) leave_staging(status);
  end_run(status.code());
}

// What is told is its own, since the operation may run again at once.
void Operation::end_for_another(Code code) {
  RunEnd& other = *std::exchange(told_, nullptr);
  const auto held = std::move(self_);
  const std::uint64_t sequence = sequence_;
  const Status status = status_;
  end(code);
  other.end_as(sequence, status);
}

void Operation::release_itself() noexcept {
  const auto last = std::move(self_);
  last->take_back();
}

void Operation::leave_to_itself(std::shared_ptr<Operation> operation) noexcept {
  Operation& held = *operation;
  if (held.finished()) return held.take_back();
  held.self_ = std::move(operation);
  if (held.leave()) return;
  const auto last = std::move(held.self_);  // it is over by now
  last->let_go();
}

RunClock& Operation::clock() const {
  if (!clock_) begin_clock(Deadline::Clock::now());
  return *clock_;
}

void Operation::begin_clock(Deadline::Clock::time_point began) const {
  const auto first_telling = std::min<std::chrono::nanoseconds>(first_telling_after, binding_.timeout / 2);
  clock_ = RunClock{began, Deadline(began).later(binding_.timeout), Deadline(began + first_telling)};
}

double Operation::elapsed_seconds() const {
  return std::chrono::duration<double>(Deadline::Clock::now() - clock().began).count();
}

bool all_finished(std::span<const std::shared_ptr<Operation>> operations) {
  return std::ranges::all_of(operations, [](const auto& operation) { return operation->finished(); });
}

bool any_finished(std::span<const std::span<const std::shared_ptr<Operation>>> sets,
                  std::span<const RunEnd* const> runs) {
  return std::ranges::any_of(sets, all_finished) ||
         std::ranges::any_of(runs, [](const RunEnd* run) { return run->finished(); });
}

Status status_of(std::span<const std::shared_ptr<Operation>> operations) {
  for (const auto& operation : operations) {
    if (!operation->status().ok()) return operation->status();
  }
  return {};
}

}  // namespace hocket
