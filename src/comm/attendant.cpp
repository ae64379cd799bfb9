#include "src/comm/attendant.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>

#include "src/base/signals_blocked.hpp"

namespace hocket::comm {

Result<Attendant> Attendant::start(Attend attend) {
  try {
    const SignalsBlocked blocked;
    return Attendant(std::jthread([attend = std::move(attend)](const std::stop_token& over) {
      try {
        attend(over);
      } catch (const std::exception&) {
      }
    }));
  } catch (const std::system_error&) {
    return Status(Code::out_of_resources, "no thread is left; see `ulimit -u`");
  }
}

void sleep_unless_stopped(std::chrono::milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any nothing;
  std::unique_lock lock(mutex);
  nothing.wait_for(lock, stop, time, [] { return false; });
}

}  // namespace hocket::comm
