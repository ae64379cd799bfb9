#include "transports/shm/window_regions.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "src/base/log.hpp"

namespace hocket::shm {
namespace {

constexpr std::size_t foreign_regions_max = 65536;  // of one member

bool lies_in(const RegionRef& ref, std::size_t bytes, std::size_t region_bytes) {
  return ref.offset <= region_bytes && bytes <= region_bytes - ref.offset;
}

}  // namespace

void WindowRegions::tidy() {
  announce_removals();
  if (!retired_.empty()) retired_.clear();
}

// ---- own regions ----------------------------------------------------------------------------------------------------

void WindowRegions::announce_removals() {
  if (table_ != nullptr && table_->version() != own_version_) take_own();
}

// Brings own_ up to date with the table, and says what is gone.
void WindowRegions::take_own() {
  own_version_ = table_->version();
  std::vector<Own> now;
  for (SharedRegion& region : table_->snapshot()) {
    if (region.may_shrink) continue;
    now.push_back({std::move(region), std::vector<bool>(group_.members.size()), group_.members.size()});
  }
  for (const Own& before : own_) {
    const auto same =
        std::find_if(now.begin(), now.end(), [&](const Own& own) { return own.region.id == before.region.id; });
    if (same != now.end()) {
      same->told = before.told;
      same->untold = before.untold;
      continue;
    }
    const Packet gone{.kind = PacketKind::gone_region, .words = {group_.number, before.region.id}};
    for (std::size_t i = 0; i < before.told.size(); ++i) {
      if (before.told[i]) group_.tell(i, gone);
    }
  }
  own_ = std::move(now);
}

WindowRegions::Own* WindowRegions::find_own(const void* data, std::size_t bytes) {
  const auto at = reinterpret_cast<std::uintptr_t>(data);
  auto found = std::upper_bound(own_.begin(), own_.end(), at, [](std::uintptr_t address, const Own& own) {
    return address < reinterpret_cast<std::uintptr_t>(own.region.address);
  });
  if (found == own_.begin()) return nullptr;
  --found;
  const std::size_t offset = at - reinterpret_cast<std::uintptr_t>(found->region.address);
  return offset <= found->region.bytes && bytes <= found->region.bytes - offset ? &*found : nullptr;
}

// False where some member could not be told; then the memory counts as not registered this time.
bool WindowRegions::announce(Own& own) {
  if (own.untold == 0) return true;
  if (!all_connected()) return false;
  for (std::size_t member = 0; member < group_.members.size(); ++member) {
    if (!tell(own, member)) return false;
  }
  return true;
}

// Who has no link, or not any more, needs none.
bool WindowRegions::tell(Own& own, std::size_t member) {
  if (own.told[member]) return true;
  const auto fd = own.region.fd.lock();
  if (!fd) return false;
  const Packet packet{.kind = PacketKind::region,
                      .words = {group_.number, own.region.id, own.region.file_offset, own.region.bytes}};
  const int number = fd->get();
  ShmLink* const link = group_.link(member);
  if (link != nullptr && link->up() && !link->channel().try_send(packet, {&number, 1})) return false;
  own.told[member] = true;
  --own.untold;
  return true;
}

// Registered memory is handed to each member over their link. All members that register memory ask for theirs here, so
// that both sides of each do.
bool WindowRegions::all_connected() {
  if (all_connected_) return true;
  all_connected_ = true;
  for (std::size_t member = 0; member < group_.members.size(); ++member) {
    if (member == group_.self) continue;
    const ShmLink& link = group_.connector.link_to(group_.members[member].rank, std::nullopt);
    if (!link.attached() && link.ended_with().ok()) all_connected_ = false;
  }
  return all_connected_;
}

RegionRef WindowRegions::ref_to(const Own& own, const void* data) const {
  return {own.region.id, static_cast<std::uint64_t>(static_cast<const std::byte*>(data) - own.region.address)};
}

RegionRef WindowRegions::locate(const void* data, std::size_t bytes) {
  if (table_ == nullptr) return {};
  announce_removals();
  Own* const own = find_own(data, bytes);
  return own != nullptr && announce(*own) ? ref_to(*own, data) : RegionRef();
}

RegionRef WindowRegions::locate_for(std::uint32_t number, const void* data, std::size_t bytes) {
  if (table_ == nullptr) return {};
  announce_removals();
  Own* const own = find_own(data, bytes);
  return own != nullptr && tell(*own, number) ? ref_to(*own, data) : RegionRef();
}

// ---- others' regions ------------------------------------------------------------------------------------------------

bool WindowRegions::take_region(std::size_t member, Packet& packet) {
  if (packet.fds.size() != 1 || foreign_[member].size() == foreign_regions_max) return false;
  Foreign foreign;
  foreign.fd = std::move(packet.fds.front());
  foreign.file_offset = packet.words[2];
  foreign.bytes = packet.words[3];
  struct stat file {};
  if (::fstat(foreign.fd.get(), &file) != 0) return false;
  const auto size = static_cast<std::uint64_t>(file.st_size);
  if (foreign.file_offset > size || foreign.bytes > size - foreign.file_offset) return false;  // would be SIGBUS later
  return foreign_[member].emplace(static_cast<std::uint32_t>(packet.words[1]), std::move(foreign)).second;
}

bool WindowRegions::take_removal(std::size_t member, const Packet& packet) {
  auto& regions = foreign_[member];
  const auto gone = regions.find(static_cast<std::uint32_t>(packet.words[1]));
  if (gone == regions.end()) return false;
  if (gone->second.mapping) retired_.push_back(std::move(gone->second.mapping));
  regions.erase(gone);
  return true;
}

WindowRegions::Foreign* WindowRegions::find_foreign(std::uint32_t member, std::uint32_t region) {
  const auto found = foreign_[member].find(region);
  return found == foreign_[member].end() ? nullptr : &found->second;
}

bool WindowRegions::map_foreign(Foreign& foreign, Rank owner) {
  const std::size_t before = foreign.file_offset % page_bytes_of(foreign.fd.get());
  auto mapping = map_memory(foreign.fd.get(), foreign.file_offset - before, before + foreign.bytes);
  if (!mapping) {
    log::warn(fmt::format("memory that rank {} registered cannot be used: {}", owner, mapping.status().message()));
    return false;
  }
  foreign.mapping = std::move(*mapping);
  foreign.data = foreign.mapping.data() + before;
  foreign.fd.reset();
  return true;
}

std::byte* WindowRegions::map_own(const RegionRef& ref, std::size_t bytes) {
  for (const Own& own : own_) {
    if (own.region.id == ref.region && lies_in(ref, bytes, own.region.bytes)) return own.region.address + ref.offset;
  }
  return nullptr;
}

std::byte* WindowRegions::map(std::uint32_t number, const RegionRef& ref, std::size_t bytes) {
  if (number == group_.self) return map_own(ref, bytes);
  if (find_foreign(number, ref.region) == nullptr) {
    ShmLink* const link = group_.link(number);
    if (link != nullptr) link->listen();  // the region may be on its way
  }
  return find(number, ref, bytes);
}

std::byte* WindowRegions::find(std::uint32_t number, const RegionRef& ref, std::size_t bytes) {
  Foreign* const foreign = find_foreign(number, ref.region);
  if (foreign == nullptr || !lies_in(ref, bytes, foreign->bytes)) return nullptr;
  if (foreign->data == nullptr && !map_foreign(*foreign, group_.members[number].rank)) return nullptr;
  return foreign->data + ref.offset;
}

}  // namespace hocket::shm
