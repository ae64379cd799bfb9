#include "src/exec/operation.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>
#include <vector>

#include "src/base/log.hpp"

namespace hocket {
namespace {

constexpr std::chrono::milliseconds first_telling_after{200};

// Called, and nothing that it throws goes further.
void call(const Operation::Callback& callback, Code result) {
  try {
    callback(result);
  } catch (const std::exception& error) {
    log::error(std::string("a completion function threw: ") + error.what());
  } catch (...) {
    log::error("a completion function threw something that is not a std::exception");
  }
}

}  // namespace

constinit thread_local bool Operation::in_callback_ = false;

void Operation::bind(const Binding& binding, bool persistent) {
  binding_ = binding;
  persistent_ = callback_allowed_ = persistent;
  if (!persistent) restart();
}

void Operation::bind_again(const std::byte* input, std::byte* output) {
  binding_.input = input;
  binding_.output = output;
  callback_allowed_ = false;
  restart();
}

void Operation::restart() {
  clock_.reset();
  if (!failure_.ok()) failure_ = Status();
  if (!status_.ok()) status_ = Status();
  state_.store(nullptr, std::memory_order_relaxed);
}

void Operation::number_if_collective() {
  if (!is_message()) sequence_ = context_->next_collective();
}

void Operation::number_message() {
  const auto used = directions();
  if (used.empty()) return;
  sequence_ = context_->next_message(used[0]);
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
  if (!callback_allowed_) return state_.store(&over, std::memory_order_release);
  const void* const before = state_.exchange(&over, std::memory_order_acq_rel);
  if (before == nullptr || before == &over) return;
  const std::unique_ptr<Callback> callback(static_cast<Callback*>(const_cast<void*>(before)));
  call_back(std::move(*callback), status.code());
}

bool Operation::on_complete(Callback callback) {
  auto asking = std::make_unique<Callback>(std::move(callback));
  const void* before = nullptr;
  if (state_.compare_exchange_strong(before, asking.get())) {
    (void)asking.release();
    return true;
  }
  if (before != &over) return false;
  call_back(std::move(*asking), status_.code());
  return true;
}

// One after the other, however they ask for each other, so that chains of any length take no stack; unless memory for
// those that wait runs out.
void Operation::call_back(Callback callback, Code result) {
  thread_local std::vector<std::pair<Callback, Code>> waiting;
  if (in_callback_) {
    try {
      if (waiting.size() == waiting.capacity()) waiting.reserve(2 * waiting.size() + 1);
    } catch (const std::bad_alloc&) {
      return call(callback, result);
    }
    waiting.emplace_back(std::move(callback), result);
    return;
  }
  in_callback_ = true;
  call(callback, result);
  while (!waiting.empty()) {
    for (const auto& [next, code] : std::exchange(waiting, {})) call(next, code);
  }
  in_callback_ = false;
}

Operation::RunClock& Operation::clock() const {
  if (!clock_) {
    const auto now = Deadline::Clock::now();
    const auto first_telling = std::min<std::chrono::nanoseconds>(first_telling_after, binding_.timeout / 2);
    clock_ = RunClock{now, Deadline(now).later(binding_.timeout), Deadline(now + first_telling)};
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
