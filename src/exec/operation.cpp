#include "src/exec/operation.hpp"

#include <algorithm>

namespace hocket {
namespace {

constexpr std::chrono::milliseconds first_telling_after{200};

}  // namespace

void Operation::bind(const Binding& binding) {
  binding_ = binding;
  begin_run();
}

void Operation::bind_again(const std::byte* input, std::byte* output) {
  binding_.input = input;
  binding_.output = output;
  begin_run();
}

void Operation::begin_run() {
  clock_.reset();
  if (!failure_.ok()) failure_ = Status();
  if (!status_.ok()) status_ = Status();
  finished_.store(false, std::memory_order_relaxed);
}

void Operation::finish(const Status& status) {
  status_ = status;
  binding_.own_input.reset();
  if (observer_) {
    if (status.ok()) observer_->finished(algorithm(), elapsed_seconds());
    observer_.reset();
  }
  finished_.store(true, std::memory_order_release);
}

void Operation::set_algorithm(std::uint8_t number) {
  constexpr unsigned wire_bits = 0xFFU << Signature::algorithm_bits & 0xFFU;
  binding_.signature.algorithm = static_cast<std::uint8_t>((binding_.signature.algorithm & wire_bits) | number);
}

Operation::RunClock& Operation::clock() const {
  if (!clock_) {
    const auto now = Deadline::Clock::now();
    const auto first_telling = std::min<std::chrono::nanoseconds>(first_telling_after, binding_.timeout / 2);
    clock_ = RunClock{now, Deadline(now + binding_.timeout), Deadline(now + first_telling)};
  }
  return *clock_;
}

double Operation::elapsed_seconds() const {
  return std::chrono::duration<double>(Deadline::Clock::now() - clock().began).count();
}

bool all_finished(std::span<const std::shared_ptr<Operation>> operations) {
  return std::ranges::all_of(operations, [](const auto& operation) { return operation->finished(); });
}

Status status_of(std::span<const std::shared_ptr<Operation>> operations) {
  for (const auto& operation : operations) {
    if (!operation->status().ok()) return operation->status();
  }
  return {};
}

}  // namespace hocket
