// Buffer: a value that says where bytes are.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hocket {

enum class Device : std::uint8_t { host, cuda };

// Bytes that somebody else owns. `device_index` counts devices of its kind; 0 for the host.
struct Buffer {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  Device device = Device::host;
  std::int16_t device_index = 0;

  Buffer part(std::size_t offset, std::size_t length) const { return {data + offset, length, device, device_index}; }
};

struct ConstBuffer {
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
  Device device = Device::host;
  std::int16_t device_index = 0;

  ConstBuffer() = default;
  ConstBuffer(const std::byte* at, std::size_t length, Device where = Device::host, std::int16_t index = 0)
      : data(at), bytes(length), device(where), device_index(index) {}
  ConstBuffer(const Buffer& other) : ConstBuffer(other.data, other.bytes, other.device, other.device_index) {}

  ConstBuffer part(std::size_t offset, std::size_t length) const {
    return {data + offset, length, device, device_index};
  }
};

}  // namespace hocket
