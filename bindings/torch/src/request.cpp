#include "bindings/torch/src/request.hpp"

namespace hocket_torch {
namespace {

using Function = std::function<void(hocket_result)>;

void call(hocket_result result, void* context) {
  const std::unique_ptr<Function> function(static_cast<Function*>(context));
  (*function)(result);
}

}  // namespace

CommHandle own(hocket_comm* comm) {
  return {comm, hocket_comm_destroy};
}

WorkHandle own(hocket_work* work) {
  return {work, hocket_work_release};
}

void when_complete(const WorkHandle& work, Function function) {
  auto context = std::make_unique<Function>(std::move(function));
  const hocket_result result = hocket_work_on_complete(work.get(), call, context.get());
  if (result == HOCKET_OK) {
    (void)context.release();
  } else {
    (*context)(result);
  }
}

Outcome CallRequest::wait(std::int64_t milliseconds) {
  const CommHandle stays = comm_.lock();  // while this thread is inside
  const hocket_result result =
      milliseconds > 0 ? hocket_work_wait(work_.get(), milliseconds) : hocket_work_test(work_.get());
  return {result, result > HOCKET_IN_PROGRESS ? hocket_last_error() : ""};
}

void CallRequest::when_complete(std::function<void()> function) {
  hocket_torch::when_complete(work_, [function = std::move(function)](hocket_result) { function(); });
}

void CallRequest::abort(const char* reason) {
  if (const CommHandle comm = comm_.lock()) (void)hocket_comm_abort(comm.get(), reason);
}

}  // namespace hocket_torch
