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

bool is_aligned(const std::byte* at, std::size_t element_bytes) {
  return reinterpret_cast<std::uintptr_t>(at) % std::min(element_bytes, alignment_max) == 0;
}

}  // namespace

void UserFunction::reduce(std::byte* to, const std::byte* left, const std::byte* right, std::size_t count) {
  const std::size_t element_bytes = size_of(dtype_);
  if (is_aligned(to, element_bytes) && is_aligned(left, element_bytes) && is_aligned(right, element_bytes)) {
    return call(to, left, right, count);
  }
  constexpr std::size_t block_bytes = 4096;
  alignas(alignment_max) std::byte a[block_bytes], b[block_bytes];
  for (std::size_t at = 0; at < count * element_bytes && failure_.ok(); at += block_bytes) {
    const std::size_t bytes = std::min(block_bytes, count * element_bytes - at);
    std::memcpy(a, left + at, bytes);
    std::memcpy(b, right + at, bytes);
    call(a, a, b, bytes / element_bytes);
    std::memcpy(to + at, a, bytes);
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
    thrown = "something that is no std::exception";
  }
  failure_ = Status(
      Cause{.code = Code::aborted,
            .message = fmt::format("the reduction function of rank {} threw: {}; it must not throw", rank_, thrown),
            .rank = rank_,
            .peer = rank_,
            .operation = {}});
}

}  // namespace hocket
