// Binding: the buffers of one run of an operation, and what the run does with them.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include "src/exec/staging.hpp"
#include "src/exec/user_function.hpp"
#include "src/spi/reduction.hpp"
#include "src/spi/signature.hpp"

namespace hocket {

struct DeviceData;

// What an operation is bound to for one run.
struct Binding {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  Signature signature;
  Reduction reduction;
  std::chrono::nanoseconds timeout{};
  Rank root = 0;
  std::shared_ptr<UserFunction> user = {};  // what reduction.custom is
  std::shared_ptr<Staging> staging = {};  // where the input lies, and perhaps the output, if not in the caller's memory
  std::shared_ptr<DeviceData> device = {};  // of data in memory of a GPU, which only some operations can be bound to
};

}  // namespace hocket
