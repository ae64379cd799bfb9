#include "src/comm/attendant.hpp"

#include <exception>
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

}  // namespace hocket::comm
