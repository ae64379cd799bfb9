// RecordOnSignal: has a function called, on a thread of its own, whenever the process gets a signal. The thread waits
// for nothing else, so that it answers whatever the program's threads hang in.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "src/base/fd.hpp"
#include "src/spi/status.hpp"

namespace hocket::comm {

// Signals are the program's: this takes one only because the user has named it (HOCKET_RECORD_SIGNAL). Its handler
// stays for the life of the process, where it does nothing once nobody listens.
class RecordOnSignal {
 public:
  // `record` throws nothing. Code::invalid_environment where the program handles the signal itself;
  // Code::out_of_resources.
  static Result<std::unique_ptr<RecordOnSignal>> start(int signal, std::function<void()> record);
  // Waits for a call that is going on.
  ~RecordOnSignal();
  RecordOnSignal(const RecordOnSignal&) = delete;
  RecordOnSignal& operator=(const RecordOnSignal&) = delete;

 private:
  RecordOnSignal() = default;
  void run(const std::function<void()>& record);

  UniqueFd event_;
  int place_ = -1;  // among those that the handler tells
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

}  // namespace hocket::comm
