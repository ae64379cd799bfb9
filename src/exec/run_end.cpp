#include "src/exec/run_end.hpp"

#include <bit>
#include <exception>
#include <string>
#include <utility>

#include "src/base/log.hpp"

namespace hocket {
namespace {

void log_thrown(const char* what) noexcept {
  try {
    log::error(std::string("a completion function threw: ") + what);
  } catch (...) {
    log::error("a completion function threw, and memory ran out for saying what");
  }
}

// Nothing that it throws goes further.
void call(const RunEnd::Callback& callback, Code result) noexcept {
  try {
    callback(result);
  } catch (const std::exception& error) {
    log_thrown(error.what());
  } catch (...) {
    log_thrown("something that is not a std::exception");
  }
}

}  // namespace

struct RunEnd::Call {
  Callback callback;
  Code result = Code::ok;
  Call* next = nullptr;  // the one that is called when this one has returned
};

constinit thread_local RunEnd::Call* RunEnd::last_called_ = nullptr;

bool RunEnd::on_complete(Callback callback) {
  auto call = std::make_unique<Call>(Call{.callback = std::move(callback)});
  State before = running;
  static_assert(alignof(Call) > over);
  if (state_.compare_exchange_strong(before, std::bit_cast<State>(call.get()))) {
    (void)call.release();
    return true;
  }
  if (before != over) return false;
  call->result = status_.code();
  call_back(std::move(call));
  return true;
}

bool RunEnd::leave() noexcept {
  State now = state_.load(std::memory_order_acquire);
  while (now != over) {
    if (state_.compare_exchange_weak(now, now | given_up)) return true;
  }
  return false;
}

void RunEnd::end_for_others(Code code, State before) {
  std::unique_ptr<Call> call(std::bit_cast<Call*>(before & ~given_up));
  if ((before & given_up) != 0) release_itself();
  if (call == nullptr) return;
  call->result = code;
  call_back(std::move(call));
}

void RunEnd::call_back(Callback callback, Code result) {
  call_back(std::make_unique<Call>(Call{.callback = std::move(callback), .result = result}));
}

// One after the other, however they ask for each other, so that chains of any length take no stack. Needs no memory.
void RunEnd::call_back(std::unique_ptr<Call> call) noexcept {
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

}  // namespace hocket
