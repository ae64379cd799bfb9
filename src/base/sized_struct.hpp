// Structs of the C API that begin with their size, so that they can grow.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>

namespace hocket {

// The caller's struct as this build knows it: members that an older caller lacks stay zero. Nothing where the size is
// not plausible, or a newer caller set a member that this build does not know.
template <class T>
std::optional<T> read_sized(const T* given) {
  if (given != nullptr && given->struct_size == sizeof(T)) return *given;
  T copy{};
  copy.struct_size = sizeof(T);
  if (given == nullptr) return copy;
  const std::size_t size = given->struct_size;
  if (size < 2 * sizeof(std::size_t) || size > 65536) return std::nullopt;
  std::memcpy(static_cast<void*>(&copy), given, std::min(size, sizeof(T)));
  const auto* bytes = reinterpret_cast<const std::byte*>(given);
  for (std::size_t i = sizeof(T); i < size; ++i) {
    if (bytes[i] != std::byte{0}) return std::nullopt;
  }
  copy.struct_size = sizeof(T);
  return copy;
}

// Copies as much as the caller has room for. False where the size is not plausible.
template <class T>
bool write_sized(T* target, T source) {
  const std::size_t size = target->struct_size;
  if (size < 2 * sizeof(std::size_t) || size > 65536) return false;
  source.struct_size = size;
  std::memcpy(static_cast<void*>(target), &source, std::min(size, sizeof(T)));
  return true;
}

}  // namespace hocket
