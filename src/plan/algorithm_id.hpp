// The number by which signatures name an algorithm: a hash of its name and version, and so the same in all builds that
// have the algorithm, wherever it stands in their catalogs.
#pragma once

#include <cstdint>
#include <string_view>

#include "src/base/hash.hpp"
#include "src/spi/schedule.hpp"

namespace hocket {

constexpr std::uint32_t id_of(std::string_view name, std::uint32_t version) {
  return Hash().add(name).add(version).value32();
}
inline std::uint32_t id_of(const Algorithm& algorithm) {
  return id_of(algorithm.name, algorithm.version);
}

// Of the direct paths, which choose among themselves by what all ranks announce.
inline constexpr std::uint32_t direct_paths_id = id_of("direct paths", 1);
// Of a call over the windows of several hosts, and between their leaders by what these choose (TwoLevelOperation).
inline constexpr std::uint32_t host_windows_id = id_of("windows of hosts", 1);

}  // namespace hocket
