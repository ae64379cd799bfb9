// Request: something that Hocket is carrying out.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hocket/hocket.h"

namespace hocket_torch {

using CommHandle = std::shared_ptr<hocket_comm>;
using WorkHandle = std::shared_ptr<hocket_work>;

CommHandle own(hocket_comm* comm);
WorkHandle own(hocket_work* work);

// Calls `function` when `work` is complete, on the thread that makes progress, or at once.
void when_complete(const WorkHandle& work, std::function<void(hocket_result)> function);

struct Outcome {
  hocket_result result = HOCKET_IN_PROGRESS;
  std::string message = {};  // of a failure
};

class Request {
 public:
  virtual ~Request() = default;
  // Waits up to that long; HOCKET_IN_PROGRESS where it is not complete then. 0: does not wait.
  virtual Outcome wait(std::int64_t milliseconds) = 0;
  // Once: calls `function` when it is complete, on a thread that must not wait, or at once.
  virtual void when_complete(std::function<void()> function) = 0;
  // Gives up, on all ranks.
  virtual void abort(const char* reason) = 0;
  // Once, when it is complete: puts into the current stream what brings data to the device that is not there yet.
  virtual void deliver() {}
  // Of a receive from anybody, when it is complete; else -1.
  virtual int source() const { return -1; }
};

// One call, or one group of calls.
class CallRequest : public Request {
 public:
  CallRequest(const CommHandle& comm, hocket_work* work) : comm_(comm), work_(own(work)) {}
  Outcome wait(std::int64_t milliseconds) override;
  void when_complete(std::function<void()> function) override;
  void abort(const char* reason) override;

 private:
  const std::weak_ptr<hocket_comm> comm_;
  const WorkHandle work_;
};

}  // namespace hocket_torch
