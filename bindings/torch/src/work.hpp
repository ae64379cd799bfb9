// Work: torch's handle on a call.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "bindings/torch/src/compat.hpp"
#include "bindings/torch/src/request.hpp"
#include "bindings/torch/src/side_stream.hpp"

namespace hocket_torch {

// Calls of one thread whose works do not wait as long as it is open; see coalescing.hpp.
struct Section {
  const std::thread::id owner = std::this_thread::get_id();
  std::atomic<bool> open{true};

  bool is_this_threads() const { return open && owner == std::this_thread::get_id(); }
};

// What a call hands over to its work.
struct Started {
  std::shared_ptr<Request> request;
  std::vector<at::Tensor> inputs = {};                     // whose shapes the profiler shows
  std::vector<at::Tensor> kept = {};                       // what the request reads and writes
  std::function<void()> finish = {};                       // copies results to where the caller wants them, once
  std::vector<at::Tensor> outputs = {};                    // the result of the work and of its future
  std::vector<std::vector<at::Tensor>> output_lists = {};  // the same, where there is a list for each input
  std::chrono::milliseconds timeout{};                     // of a wait that names none; 0: until Hocket ends it
  std::shared_ptr<const Section> section = {};             // that it belongs to; null: none
  std::shared_ptr<SideStream> side = {};                   // that orders it; null: all tensors are in host memory
};

class Operation;

// With tensors in device memory, a call has settled when its work is in the side stream, in the order that its ranks
// have agreed on. The device does it later; streams wait for that, not the host.
class Work : public c10d::Work {
 public:
  Work(c10d::OpType type, const char* title, Started started);
  // A call that nobody waits for goes on.
  ~Work() override;

  bool isCompleted() override;  // by the device, too
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  int sourceRank() const override;
  std::vector<at::Tensor> result() override;
  // This thread's current stream waits for the device.
  void synchronize() override;
  // Waits until the call has settled, and this thread's current stream for the device.
  bool wait(std::chrono::milliseconds timeout = kNoTimeout) override;
  void abort() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

 private:
  void end_profile();

  const std::shared_ptr<Operation> operation_;
};

}  // namespace hocket_torch
