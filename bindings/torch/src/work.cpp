#include "bindings/torch/src/work.hpp"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "bindings/torch/src/completer.hpp"
#include "bindings/torch/src/failure.hpp"

namespace hocket_torch {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds between_looks_at_signals{100};

}  // namespace

// A call and what becomes of it. It lives until the call is complete, whether its Work does or not.
class Operation : public std::enable_shared_from_this<Operation> {
 public:
  explicit Operation(Started started) : started_(std::move(started)) {}

  bool settled() const {
    const std::lock_guard lock(mutex_);
    return settled_;
  }
  std::exception_ptr error() const {
    const std::lock_guard lock(mutex_);
    return error_;
  }
  int source() const { return started_.request->source(); }
  std::vector<at::Tensor> outputs() const {
    return started_.output_lists.empty() ? started_.outputs : started_.output_lists.front();
  }
  void abort() { started_.request->abort("the program aborted a work"); }
  bool is_of_device() const { return started_.side != nullptr; }

  // False: it has not settled.
  bool test() { return settled() || settle(started_.request->wait(0)); }
  bool done_by_device() const {
    const std::lock_guard lock(mutex_);
    return !end_ || end_->query();
  }

  void wait(milliseconds timeout) {
    if (started_.section && started_.section->is_this_threads()) return;
    const auto allowed = timeout > milliseconds(0) ? timeout : started_.timeout;
    const auto began = Clock::now();
    while (!settled()) {
      auto slice = between_looks_at_signals;
      if (allowed > milliseconds(0)) {
        const auto left = allowed - std::chrono::floor<milliseconds>(Clock::now() - began);
        if (left <= milliseconds(0)) return time_out(timeout);
        slice = std::min(slice, left);
      }
      if (settle(started_.request->wait(slice.count()))) break;
      check_signals();
    }
    if (const auto error = this->error()) std::rethrow_exception(error);
    const std::lock_guard lock(mutex_);
    if (end_) started_.side->lead_current(*end_);
  }

  // Settles itself, when it is complete, on another thread. False: it is settled already.
  bool settle_later() {
    const std::lock_guard lock(mutex_);
    if (settled_ || std::exchange(watched_, true)) return !settled_;
    started_.request->when_complete([self = shared_from_this()] {
      complete_elsewhere([self] {
        (void)self->test();
        self->fulfil();
      });
    });
    return true;
  }

  c10::intrusive_ptr<c10::ivalue::Future> future() {
    (void)test();
    {
      const std::lock_guard lock(mutex_);
      if (future_) return future_;
      const auto tensors = c10::ListType::create(c10::TensorType::get());
      std::vector<c10::Device> devices;
      if (started_.side) devices.push_back(started_.side->device());
      future_ = c10::make_intrusive<c10::ivalue::Future>(
          started_.output_lists.size() > 1 ? c10::ListType::create(tensors) : tensors, std::move(devices));
    }
    if (!settle_later()) fulfil();
    return future_;
  }

 private:
  bool settle(const Outcome& outcome) {
    if (outcome.result == HOCKET_IN_PROGRESS) return false;
    // Let go after the lock: the end of a tensor that Python knows may wait for the GIL.
    std::vector<at::Tensor> kept;
    std::function<void()> finish;
    const std::lock_guard lock(mutex_);
    if (settled_) return true;
    try {
      const at::AutoDispatchBelowADInplaceOrView no_autograd;
      if (outcome.result != HOCKET_OK) std::rethrow_exception(failure(outcome.result, outcome.message));
      const auto current = in_side_stream();
      started_.request->deliver();
      if (started_.finish) started_.finish();
      if (started_.side) pass_on();
    } catch (...) {
      error_ = std::current_exception();
    }
    if (error_ && started_.side) started_.side->keep(started_.kept);
    finish.swap(started_.finish);
    kept.swap(started_.kept);
    settled_ = true;
    return true;
  }

  c10::OptionalStreamGuard in_side_stream() const {
    return started_.side ? c10::OptionalStreamGuard(started_.side->stream()) : c10::OptionalStreamGuard();
  }

  // To whoever waits, and to the memory's allocator: all is in the side stream.
  void pass_on() {
    end_.emplace(started_.side->end());
    started_.side->uses(started_.kept);
    started_.side->uses(started_.outputs);
    for (const auto& list : started_.output_lists) started_.side->uses(list);
  }

  void fulfil() {
    c10::intrusive_ptr<c10::ivalue::Future> future;
    {
      const std::lock_guard lock(mutex_);
      if (!future_ || std::exchange(fulfilled_, true)) return;
      future = future_;
    }
    const auto current = in_side_stream();  // a future of a device lets others wait for what is current
    if (error_) {
      future->setError(error_);
    } else if (started_.output_lists.size() > 1) {
      future->markCompleted(c10::IValue(started_.output_lists));
    } else {
      future->markCompleted(c10::IValue(outputs()));
    }
  }

  void time_out(milliseconds named) {
    const auto waited = named > milliseconds(0) ? named : started_.timeout;
    const std::string message = "The operation Timed out after " + std::to_string(waited.count()) +
                                " ms; see whether all ranks are alive and make the same calls";
    if (named <= milliseconds(0)) started_.request->abort(message.c_str());
    throw std::runtime_error(message);
  }

  mutable std::mutex mutex_;  // guards all below; `finish` runs under it, so that whoever sees the end sees its results
  Started started_;
  bool settled_ = false, watched_ = false, fulfilled_ = false;
  std::exception_ptr error_;
  std::optional<c10::Event> end_;  // of the device's work; none: it has not settled, has failed, or there is none
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

Work::Work(c10d::OpType type, const char* title, Started started)
    : c10d::Work(-1, type, at::hasCallbacks() ? title : nullptr, std::move(started.inputs)),
      operation_(std::make_shared<Operation>(std::move(started))) {}

Work::~Work() {
  end_profile();
  if (!operation_->test()) operation_->settle_later();
}

bool Work::isCompleted() {
  return operation_->test() && operation_->done_by_device();
}

bool Work::isSuccess() const {
  return operation_->settled() && !operation_->error();
}

std::exception_ptr Work::exception() const {
  return operation_->error();
}

int Work::sourceRank() const {
  return operation_->source();
}

std::vector<at::Tensor> Work::result() {
  return operation_->outputs();
}

bool Work::wait(milliseconds timeout) {
  operation_->wait(timeout);
  end_profile();
  return true;
}

void Work::synchronize() {
  if (operation_->is_of_device()) operation_->wait(kNoTimeout);
}

void Work::abort() {
  operation_->abort();
}

c10::intrusive_ptr<c10::ivalue::Future> Work::getFuture() {
  return operation_->future();
}

void Work::end_profile() {
  if (auto end = std::exchange(recordFunctionEndCallback_, nullptr)) end();
}

}  // namespace hocket_torch
