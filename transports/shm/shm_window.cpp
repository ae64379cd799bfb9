#include "transports/shm/shm_window.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/wake_event.hpp"

namespace hocket::shm {
namespace {

constexpr std::size_t early_max = 4096;
constexpr std::size_t foreign_regions_max = 65536;  // of one member

static_assert(segment_bytes % 4096 == 0);

// FNV-1a.
std::uint64_t fingerprint_of(std::span<const Rank> members) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const Rank rank : members) hash = (hash ^ static_cast<std::uint32_t>(rank)) * 0x100000001b3;
  return hash;
}

}  // namespace

// ---- the desk
// ---------------------------------------------------------------------------------------------------------

bool WindowDesk::deliver(Rank from, Packet& packet) {
  const std::uint64_t number = packet.words[0];
  if (const auto found = open_.find(number); found != open_.end()) return found->second->take(from, packet);
  if (number < next_) return true;  // closed here already
  if (early_.size() == early_max) return false;
  early_.push_back({from, std::move(packet)});
  return true;
}

std::uint64_t WindowDesk::open(ShmWindow& window) {
  const std::uint64_t number = next_++;
  open_[number] = &window;
  std::vector<Early> waiting = std::exchange(early_, {});
  for (Early& early : waiting) deliver(early.from, early.packet);
  return number;
}

// ---- opening
// ----------------------------------------------------------------------------------------------------------

ShmWindow::ShmWindow(WindowDesk& desk, const RegionTable* regions, std::span<const Rank> members,
                     std::span<ShmLink* const> links, std::uint32_t self)
    : desk_(desk), table_(regions), members_(members.size()), self_(self), fingerprint_(fingerprint_of(members)) {
  for (std::size_t i = 0; i < members.size(); ++i) {
    members_[i].rank = members[i];
    members_[i].link = links[i];
  }
}

ShmWindow::~ShmWindow() {
  desk_.close(number_);
}

void ShmWindow::attach() {
  number_ = desk_.open(*this);
}

void ShmWindow::tell(const Packet& packet, std::span<const int> fds) {
  for (Member& member : members_) {
    if (member.link != nullptr && member.link->up()) member.link->channel().send(packet, fds);
  }
}

void ShmWindow::adopt(Member& member, Mapping segment) {
  member.segment = std::move(segment);
  member.tail = std::launder(reinterpret_cast<SegmentTail*>(member.segment.data() + window_staging_bytes));
}

Status ShmWindow::publish_own() {
  Member& own = members_[self_];
  auto fd = create_memory("a window", segment_bytes);
  if (!fd) return fd.status();
  auto mapping = map_memory(fd->get(), 0, segment_bytes, Pages::now);
  if (!mapping) return mapping.status();
  adopt(own, std::move(*mapping));
  plain_memory_.show(own.tail->plain_memory);
  const int number = fd->get();
  tell({.kind = PacketKind::segment, .words = {number_, segment_bytes, fingerprint_}}, {&number, 1});
  own.published = true;
  return {};
}

Status ShmWindow::confirm() {
  for (Member& member : members_) {
    if (member.segment) continue;
    if (Status checked = check_memory(member.fd.get(), segment_bytes); !checked.ok()) return checked;
    auto mapping = map_memory(member.fd.get(), 0, segment_bytes, Pages::now);
    if (!mapping) return mapping.status();
    member.fd.reset();
    adopt(member, std::move(*mapping));
  }
  reads_plain_memory_ = std::all_of(members_.begin(), members_.end(), [](Member& member) {
    return member.plain_memory.probe(member.tail->plain_memory);
  });
  tell({.kind = PacketKind::ready, .words = {number_}});
  members_[self_].confirmed = true;
  return {};
}

Status ShmWindow::give_up(const Status& why) {
  const Member& own = members_[self_];
  Cause cause = why.cause();
  if (cause.rank == no_rank) {
    cause.rank = cause.peer = own.rank;
    cause.message = fmt::format("rank {} takes no part in a window: {}", own.rank, cause.message);
  }
  if (!own.confirmed) {
    tell({.kind = PacketKind::ready,
          .words = {number_, static_cast<std::uint64_t>(cause.code), static_cast<std::uint32_t>(cause.peer)},
          .text = cause.message});
  }
  return Status(std::move(cause));
}

bool ShmWindow::all_published() const {
  return std::all_of(members_.begin(), members_.end(), [](const Member& member) { return member.published; });
}

bool ShmWindow::all_confirmed() const {
  return std::all_of(members_.begin(), members_.end(), [](const Member& member) { return member.confirmed; });
}

Rank ShmWindow::missing() const {
  for (const Member& member : members_) {
    if (!member.published) return member.rank;
  }
  for (const Member& member : members_) {
    if (!member.confirmed) return member.rank;
  }
  return no_rank;
}

void ShmWindow::differ(Rank from) {
  const Rank self = members_[self_].rank;
  refusal_ = Status(Cause{.code = Code::mismatch,
                          .message = fmt::format("rank {} opened a window with other members than rank {}", from, self),
                          .rank = self,
                          .peer = from});
}

bool ShmWindow::take(Rank from, Packet& packet) {
  const auto found =
      std::find_if(members_.begin(), members_.end(), [&](const Member& member) { return member.rank == from; });
  if (found == members_.end()) {
    differ(from);
    return true;
  }
  Member& member = *found;
  switch (packet.kind) {
    case PacketKind::segment:
      if (member.published) return false;
      member.published = true;
      if (packet.words[2] != fingerprint_) {
        differ(from);
        return true;
      }
      if (packet.words[1] != segment_bytes || packet.fds.size() != 1) return false;
      member.fd = std::move(packet.fds.front());
      return true;
    case PacketKind::ready:
      if (member.confirmed) return false;
      member.confirmed = true;
      if (!packet.text.empty() && refusal_.ok()) {
        refusal_ = Status(Cause{.code = failure_code(packet.words[1]),
                                .message = printable(packet.text),
                                .rank = from,
                                .peer = static_cast<Rank>(packet.words[2])});
      }
      return true;
    case PacketKind::region: return take_region(member, packet);
    case PacketKind::gone_region: {
      const auto gone = member.regions.find(static_cast<std::uint32_t>(packet.words[1]));
      if (gone == member.regions.end()) return false;
      if (gone->second.mapping) retired_.push_back(std::move(gone->second.mapping));
      member.regions.erase(gone);
      return true;
    }
    default: return false;
  }
}

// ---- registered memory
// ------------------------------------------------------------------------------------------------

bool ShmWindow::take_region(Member& member, Packet& packet) {
  if (packet.fds.size() != 1 || member.regions.size() == foreign_regions_max) return false;
  Foreign foreign;
  foreign.fd = std::move(packet.fds.front());
  foreign.file_offset = packet.words[2];
  foreign.bytes = packet.words[3];
  struct stat file {};
  if (::fstat(foreign.fd.get(), &file) != 0) return false;
  foreign.page_bytes = static_cast<std::size_t>(std::max<long>(file.st_blksize, ::getpagesize()));  // may be huge pages
  const auto size = static_cast<std::uint64_t>(file.st_size);
  if (foreign.file_offset > size || foreign.bytes > size - foreign.file_offset) return false;  // would be SIGBUS later
  return member.regions.emplace(static_cast<std::uint32_t>(packet.words[1]), std::move(foreign)).second;
}

// Brings own_ up to date with the table, and says what is gone.
void ShmWindow::take_own_regions() {
  own_version_ = table_->version();
  std::vector<Own> now;
  for (SharedRegion& region : table_->snapshot()) {
    if (!region.may_shrink) now.push_back({std::move(region)});
  }
  for (const Own& before : own_) {
    const auto same =
        std::find_if(now.begin(), now.end(), [&](const Own& own) { return own.region.id == before.region.id; });
    if (same != now.end()) {
      same->told = before.told;
      continue;
    }
    const Packet gone{.kind = PacketKind::gone_region, .words = {number_, before.region.id}};
    for (std::size_t i = 0; i < before.told; ++i) {
      if (ShmLink* const link = members_[i].link; link != nullptr && link->up()) link->channel().send(gone);
    }
  }
  own_ = std::move(now);
}

void ShmWindow::announce_removals() {
  if (table_ != nullptr && table_->version() != own_version_) take_own_regions();
}

ShmWindow::Own* ShmWindow::own_region(const void* data, std::size_t bytes) {
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
bool ShmWindow::announce(Own& own) {
  const auto fd = own.region.fd.lock();
  if (!fd) return false;
  const Packet packet{.kind = PacketKind::region,
                      .words = {number_, own.region.id, own.region.file_offset, own.region.bytes}};
  for (const int number = fd->get(); own.told < members_.size(); ++own.told) {
    ShmLink* const link = members_[own.told].link;
    if (link != nullptr && link->up() && !link->channel().try_send(packet, {&number, 1})) return false;
  }
  return true;
}

Status ShmWindow::read(std::uint32_t member, std::uintptr_t from, std::byte* to, std::size_t bytes) {
  const Status status = members_[member].plain_memory.read(from, to, bytes);
  if (status.ok()) return status;
  const Rank rank = members_[member].rank;
  return Status(Cause{.code = status.code(),
                      .message = fmt::format("rank {}'s part of the data is gone: {}", rank, status.message()),
                      .peer = rank});
}

void ShmWindow::wake_others() {
  full_fence();
  for (std::size_t member = 0; member < members_.size(); ++member) {
    if (member != self_ && members_[member].tail->bell.wake()) set_event(members_[member].link->bell());
  }
}

RegionRef ShmWindow::locate(const void* data, std::size_t bytes) {
  if (table_ == nullptr) return {};
  announce_removals();
  Own* const own = own_region(data, bytes);
  if (own == nullptr || (own->told < members_.size() && !announce(*own))) return {};
  return {own->region.id, static_cast<std::uint64_t>(static_cast<const std::byte*>(data) - own->region.address)};
}

std::byte* ShmWindow::map(std::uint32_t number, const RegionRef& ref, std::size_t bytes) {
  const auto lies_in = [&](std::size_t size) { return ref.offset <= size && bytes <= size - ref.offset; };
  if (number == self_) {
    for (const Own& own : own_) {
      if (own.region.id == ref.region && lies_in(own.region.bytes)) return own.region.address + ref.offset;
    }
    return nullptr;
  }
  Member& member = members_[number];
  auto found = member.regions.find(ref.region);
  if (found == member.regions.end()) {
    member.link->listen();  // the region may be on its way
    found = member.regions.find(ref.region);
    if (found == member.regions.end()) return nullptr;
  }
  Foreign& foreign = found->second;
  if (!lies_in(foreign.bytes)) return nullptr;
  if (foreign.data == nullptr) {
    const std::size_t before = foreign.file_offset % foreign.page_bytes;
    auto mapping = map_memory(foreign.fd.get(), foreign.file_offset - before, before + foreign.bytes, Pages::on_demand);
    if (!mapping) {
      log::warn(
          fmt::format("memory that rank {} registered cannot be used: {}", member.rank, mapping.status().message()));
      return nullptr;
    }
    foreign.mapping = std::move(*mapping);
    foreign.data = foreign.mapping.data() + before;
    foreign.fd.reset();
  }
  return foreign.data + ref.offset;
}

void ShmWindow::tidy() {
  announce_removals();
  if (!retired_.empty()) retired_.clear();
}

}  // namespace hocket::shm
