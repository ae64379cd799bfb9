// Whether there is memory that this process may still commit: what the host has left, and its memory cgroups. What a
// memfd takes beyond that would be committed all the same, and then the kernel kills somebody for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hocket {

struct MemoryShortage {
  std::uint64_t left = 0;
  std::string limit;  // what sets it: "this host", "memory.max of cgroup /job/"
};

// What leaves less than `wanted` bytes; nothing: there is enough, as far as known. `root`: of the file system, for
// tests.
std::optional<MemoryShortage> memory_shortage(std::uint64_t wanted, const std::string& root = "");

}  // namespace hocket
