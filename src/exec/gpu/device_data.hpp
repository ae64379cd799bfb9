// DeviceData: what an operation is bound to whose data lies on a GPU, and that knows what to do with it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "src/exec/gpu/host_mirror.hpp"

namespace hocket {

struct DeviceData {
  GpuCall call;
  const std::byte* input;
  std::byte* output;
  // For a mirror on the host, which is needed where the other ranks' data does not lie on this GPU.
  std::shared_ptr<GpuLanes> lanes;
  MirrorLayout layout;
  std::size_t input_at = 0, output_at = 0;
};

}  // namespace hocket
