// WindowRegions: the memory that the members of a window have registered. Each tells the others of a region when it is
// first used, with a file descriptor, and of its end; the others map it when they first need it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "src/base/region_table.hpp"
#include "src/spi/window.hpp"
#include "transports/shm/window_group.hpp"

namespace hocket::shm {

class WindowRegions {
 public:
  WindowRegions(WindowGroup& group, const RegionTable* table)
      : group_(group), table_(table), foreign_(group.members.size()) {}

  // As Window has these.
  RegionRef locate(const void* data, std::size_t bytes);
  std::byte* map(std::uint32_t number, const RegionRef& ref, std::size_t bytes);
  // locate() for one other member: no other is told.
  RegionRef locate_for(std::uint32_t number, const void* data, std::size_t bytes);
  // map() of what that other member has told until now.
  std::byte* find(std::uint32_t number, const RegionRef& ref, std::size_t bytes);
  void tidy();
  // Tells the members which own regions are gone.
  void announce_removals();

  // What other members say. False: it makes no sense.
  bool take_region(std::size_t member, Packet& packet);
  bool take_removal(std::size_t member, const Packet& packet);

 private:
  // This process's.
  struct Own {
    SharedRegion region;
    std::vector<bool> told;  // by member: whether it knows the region
    std::size_t untold;      // how many do not
  };
  // Another member's.
  struct Foreign {
    UniqueFd fd;  // until it is mapped
    std::uint64_t file_offset = 0;
    std::size_t bytes = 0;
    Mapping mapping;
    std::byte* data = nullptr;
  };

  void take_own();
  Own* find_own(const void* data, std::size_t bytes);
  std::byte* map_own(const RegionRef& ref, std::size_t bytes);
  RegionRef ref_to(const Own& own, const void* data) const;
  bool announce(Own& own);
  bool tell(Own& own, std::size_t member);
  bool all_connected();
  Foreign* find_foreign(std::uint32_t member, std::uint32_t region);
  bool map_foreign(Foreign& foreign, Rank owner);

  WindowGroup& group_;
  const RegionTable* table_;
  std::vector<Own> own_;  // by ascending address
  std::uint64_t own_version_ = 0;
  bool all_connected_ = false;  // with all members, so that they can be told of a region
  std::vector<std::unordered_map<std::uint32_t, Foreign>> foreign_;  // by member
  std::vector<Mapping> retired_;                                     // of regions that their owners removed
};

}  // namespace hocket::shm
