// The last cache before memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

namespace hocket {

struct LastCache {
  std::size_t bytes = std::size_t{32} << 20;
  std::size_t on_host = 1;  // how many of them

  // That of a core of this process, found once; as above where the system does not tell.
  static const LastCache& here();
  // From such a folder of a core, "/sys/devices/system/cpu/cpu0/cache", of a host that has so many.
  static LastCache of(const std::string& folder, std::size_t cores_of_host);

  // What so many ranks have together where they are spread over the host.
  std::size_t bytes_of_all(std::size_t ranks) const { return bytes * std::clamp<std::size_t>(ranks, 1, on_host); }
};

}  // namespace hocket
