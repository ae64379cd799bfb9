#include "src/exec/user_function.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>

namespace hocket {
namespace {

constexpr std::size_t alignment_max = 16;

// What hocket_function promises: a type's alignment divides its size.
bool is_aligned(const std::byte* at, std::size_t element_bytes) {
  const std::size_t power_of_two = element_bytes & (~element_bytes + 1);
  return reinterpret_cast<std::uintptr_t>(at) % std::min(power_of_two, alignment_max) == 0;
}

}  // namespace

void UserFunction::reduce(std::byte* to, const std::byte* left, const std::byte* right, std::size_t count) {
  if (is_aligned(to, element_bytes_) && is_aligned(left, element_bytes_) && is_aligned(right, element_bytes_)) {
    return call(to, left, right, count);
  }
  alignas(alignment_max) std::byte a[element_bytes_max], b[element_bytes_max];
  const std::size_t block = element_bytes_max / element_bytes_;  // elements
  for (std::size_t done = 0; done < count && failure_.ok(); done += block) {
    const std::size_t at = done * element_bytes_;
    const std::size_t elements = std::min(block, count - done);
    std::memcpy(a, left + at, elements * element_bytes_);
    std::memcpy(b, right + at, elements * element_bytes_);
    call(a, a, b, elements);
    std::memcpy(to + at, a, elements * element_bytes_);
  }
}

void UserFunction::call(std::byte* to, const std::byte* left, const std::byte* right, std::size_t count) {
  if (!failure_.ok() || count == 0) return;
  std::string thrown;
  try {
    return function_(to, left, right, count, static_cast<hocket_dtype>(dtype_), context_);
  } catch (const std::exception& error) {
    thrown = error.what();
  } catch (...) {
    thrown = "something that is not a std::exception";
  }
  failure_ = Status(
      Cause{.code = Code::aborted,
            .message = fmt::format("the reduction function of rank {} threw: {}; it must not throw", rank_, thrown),
            .rank = rank_,
            .peer = rank_,
            .operation = {}});
}

}  // namespace hocket
