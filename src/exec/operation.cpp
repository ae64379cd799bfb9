#include "src/exec/operation.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

#include "src/base/log.hpp"

namespace hocket {
namespace {

constexpr std::chrono::milliseconds first_telling_after{200};

void log_thrown(const char* what) noexcept {
  try {
    log::error(std::string("a completion function threw: ") + what);
  } catch (...) {
    log::error("a completion function threw, and memory ran out for saying what");
  }
}

// Nothing that it throws goes further.
void call(const Operation::Callback& callback, Code result) noexcept {
  try {
    callback(result);
  } catch (const std::exception& error) {
    log_thrown(error.what());
  } catch (...) {
    log_thrown("something that is not a std::exception");
  }
}

}  // namespace

struct Operation::Call {
  Callback callback;
  Code result = Code::ok;
  std::shared_ptr<Operation> held = {};  // whose end it tells
  Call* next = nullptr;                  // the one that is called when this one has returned
};

std::atomic<std::uint64_t> Manner::numbers_{0};
constinit thread_local Operation::Call* Operation::last_called_ = nullptr;

void Operation::bind(const Binding& binding, bool persistent) {
  binding_ = binding;
  persistent_ = callback_allowed_ = persistent;
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

void Operation::end_for_others(Code code, const void* before) {
  if (before == &held_by_itself) {
    const auto last = std::move(self_);
    return last->take_back();
  }
  std::unique_ptr<Call> call(static_cast<Call*>(const_cast<void*>(before)));
  call->result = code;
  call_back(std::move(call));
}

void Operation::leave_to_itself(std::shared_ptr<Operation> operation) noexcept {
  Operation& held = *operation;
  if (held.finished()) return held.take_back();
  held.self_ = std::move(operation);
  const void* running = nullptr;
  if (held.state_.compare_exchange_strong(running, &held_by_itself)) return;
  const auto last = std::move(held.self_);  // it is over by now, or its Call holds it
  last->let_go();
}

bool Operation::on_complete(Callback callback) {
  std::unique_ptr<Call> call(new Call{.callback = std::move(callback), .held = weak_from_this().lock()});
  const void* before = nullptr;
  if (state_.compare_exchange_strong(before, call.get())) {
    (void)call.release();
    return true;
  }
  if (before != &over) return false;
  call->result = status_.code();
  call_back(std::move(call));
  return true;
}

void Operation::call_back(Callback callback, Code result) {
  call_back(std::make_unique<Call>(Call{.callback = std::move(callback), .result = result}));
}

// One after the other, however they ask for each other, so that chains of any length take no stack. Needs no memory.
void Operation::call_back(std::unique_ptr<Call> call) noexcept {
  Call* now = call.release();
  Call* const before = std::exchange(last_called_, now);
  if (before != nullptr) {
    before->next = now;
    return;
  }
  while (now != nullptr) {
    hocket::call(now->callback, now->result);
    now->callback = nullptr;  // what it held may ask for others
    if (now->next == nullptr) last_called_ = nullptr;
    const std::unique_ptr<Call> called(std::exchange(now, now->next));
  }
}

RunClock& Operation::clock() const {
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
