#include <fmt/format.h>

#include "src/comm/agree.hpp"

namespace hocket::comm {

Result<AgreeRequest> agree_request(std::uint64_t flag, const hocket_agree_options& options) {
  if (options.timeout_ms >= 0) {
    return AgreeRequest{.flag = flag, .timeout = std::chrono::milliseconds(options.timeout_ms)};
  }
  return Status(
      Code::invalid_argument,
      fmt::format("agree: options.timeout_ms is {}; it must be positive, or 0 for the default", options.timeout_ms));
}

}  // namespace hocket::comm
