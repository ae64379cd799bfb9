// Where a caller's buffer lies. Works in builds without CUDA, too: a program that has device memory has the driver.
#pragma once

#include <string>

namespace hocket::cuda {

// Whether device_memory_at() has found the CUDA driver in this process before. Any thread.
bool driver_was_seen();

// What kind of device memory `data` points into, for messages: "device memory of GPU 1". Empty where the library can
// use it as it uses host memory: that is host memory, pinned or not, and managed memory.
// Without a driver it only looks whether anything was loaded since the last time. Any thread.
std::string device_memory_at(const void* data);

}  // namespace hocket::cuda
