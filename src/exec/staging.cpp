#include "src/exec/staging.hpp"

#include <cstring>
#include <new>

#include "src/base/copy_bytes.hpp"
#include "src/exec/reduce.hpp"

namespace hocket {

void Staging::multiply_by(DataType dtype, const void* scalar) {
  multiplies_ = true;
  dtype_ = dtype;
  std::memcpy(scalar_, scalar, size_of(dtype));
}

void Staging::allocate() {
  memory_ = std::make_unique_for_overwrite<std::byte[]>(bytes_);
}

bool Staging::gather() {
  try {
    if (memory_ == nullptr) allocate();
  } catch (const std::bad_alloc&) {
    return false;
  }
  if (clears_gaps_) std::memset(memory_.get(), 0, bytes_);
  for (const auto& [data, bytes, at] : sources_) {
    if (multiplies_) {
      scale(dtype_, memory_.get() + at, data, bytes / size_of(dtype_), scalar_);
    } else {
      copy_bytes(memory_.get() + at, data, bytes);
    }
  }
  return true;
}

void Staging::scatter() const {
  for (const auto& [data, bytes, at] : targets_) copy_bytes(data, memory_.get() + at, bytes);
}

}  // namespace hocket
