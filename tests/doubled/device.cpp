// In place of the device of programs (tools/device): the double.
#include <fmt/format.h>

#include "tests/doubled/gpus.hpp"
#include "tests/support/host_device.hpp"

namespace hocket::device {

std::unique_ptr<Device> open_device(int index) {
  if (index != 0) {
    throw Error(HOCKET_UNSUPPORTED, fmt::format("there is no GPU {}: this process sees 1", index));
  }
  return std::make_unique<testing_support::HostDevice>(testing_support::the_gpu());
}

}  // namespace hocket::device
