// A window made of memory that all members share, with a part of each, and of the regions that members have registered.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "src/base/fence.hpp"
#include "src/base/region_table.hpp"
#include "src/spi/window.hpp"
#include "transports/shm/window_group.hpp"
#include "transports/shm/window_handshake.hpp"
#include "transports/shm/window_regions.hpp"
#include "transports/shm/window_registry.hpp"
#include "transports/shm/window_waking.hpp"

namespace hocket::shm {

class ShmWindow final : public Window {
 public:
  // This rank is members[self]. All references outlive it.
  ShmWindow(std::uint32_t number, WindowRegistry& registry, const RegionTable* regions, Connector& connector,
            const WakeSocket& wake_socket, std::span<const Rank> members, std::uint32_t self);
  ~ShmWindow() override;

  // From here on packets come.
  void attach() { registry_.open(*this); }
  std::uint64_t number() const { return group_.number; }
  // From a member. False: the packet makes no sense.
  bool take(Rank from, Packet& packet);
  std::optional<std::uint32_t> member_of(Rank rank) const;
  WindowHandshake& handshake() { return handshake_; }
  WindowRegions& regions() { return regions_; }

  std::uint32_t size() const override { return static_cast<std::uint32_t>(group_.members.size()); }
  std::uint32_t self() const override { return group_.self; }
  Rank rank_of(std::uint32_t member) const override { return group_.members[member].rank; }
  ControlLine* control_lines(std::uint32_t member) override { return group_.members[member].board->lines; }
  // Commits this member's at the first call; std::bad_alloc where there is no memory for it.
  std::byte* staging(std::uint32_t member) override {
    if (!group_.staging_is_committed && member == group_.self) commit_staging();
    return group_.members[member].staging;
  }
  std::size_t staging_bytes() const override { return window_staging_bytes; }
  RegionRef locate(const void* data, std::size_t bytes) override { return regions_.locate(data, bytes); }
  std::byte* map(std::uint32_t member, const RegionRef& ref, std::size_t bytes) override {
    return regions_.map(member, ref, bytes);
  }
  bool reads_plain_memory() override;
  PlainReads plain_reads() override;
  Status read(std::uint32_t member, std::uintptr_t from, std::byte* to, std::size_t bytes) override;
  void tidy() override { regions_.tidy(); }
  std::uint32_t prepare_sleep(MemberSet awaited) override { return waking_.own_flag().prepare(awaited); }
  void sleep(std::uint32_t ticket, Deadline deadline) override { waking_.own_flag().sleep(ticket, deadline); }
  void cancel_sleep() override { waking_.own_flag().cancel(); }
  void prepare_poll() override { waking_.own_flag().prepare_poll(); }
  void wake_others() override {
    full_fence();
    wake_sleepers();
  }
  void wake_sleepers() override { waking_.wake_sleepers(); }
  void interrupt() override { waking_.own_flag().interrupt(); }

 private:
  void commit_staging();

  WindowRegistry& registry_;
  WindowGroup group_;
  WindowHandshake handshake_;
  WindowRegions regions_;
  WindowWaking waking_;
  std::optional<bool> reads_plain_memory_;  // once asked for: probing all of many members takes a while
};

}  // namespace hocket::shm
