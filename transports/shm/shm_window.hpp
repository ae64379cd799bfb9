// A window made of one segment of shared memory for each member, and of the regions that members have registered.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/base/region_table.hpp"
#include "src/spi/window.hpp"
#include "transports/shm/plain_memory.hpp"
#include "transports/shm/shared_memory.hpp"
#include "transports/shm/shm_link.hpp"
#include "transports/shm/wake_flag.hpp"

namespace hocket::shm {

inline constexpr std::size_t window_staging_bytes = std::size_t{4} << 20;

// What lies behind the staging area of a segment.
struct SegmentTail {
  alignas(4096) WakeFlag bell;
  alignas(64) PlainMemoryCard plain_memory;
  alignas(4096) ControlLine lines[Window::lines_per_member];
};
inline constexpr std::size_t segment_bytes = window_staging_bytes + sizeof(SegmentTail);

class ShmWindow;

// Brings packets to the windows they belong to. Members count the windows that they open, so they agree on a window's
// number.
class WindowDesk final : public PacketSink {
 public:
  bool deliver(Rank from, Packet& packet) override;
  // The next window opens: hands it what came early.
  std::uint64_t open(ShmWindow& window);
  void close(std::uint64_t number) { open_.erase(number); }
  const std::map<std::uint64_t, ShmWindow*>& windows() const { return open_; }

 private:
  struct Early {
    Rank from;
    Packet packet;
  };
  std::map<std::uint64_t, ShmWindow*> open_;
  std::uint64_t next_ = 0;
  std::vector<Early> early_;  // for windows that this rank has not opened yet
};

class ShmWindow final : public Window {
 public:
  // `links` in the order of `members`; null for this rank, which is members[self].
  ShmWindow(WindowDesk& desk, const RegionTable* regions, std::span<const Rank> members,
            std::span<ShmLink* const> links, std::uint32_t self);
  ~ShmWindow() override;

  // Opening, in this order.
  void attach();         // from here on packets come
  Status publish_own();  // to members who are all connected
  bool all_published() const;
  Status confirm();  // every member has all segments
  bool confirmed(std::size_t member) const { return members_[member].confirmed; }
  bool all_confirmed() const;
  // Why a member cannot take part; ok: none has said so.
  const Status& refusal() const { return refusal_; }
  // Tells the members, unless they have been told the contrary, that there is no window. Returns why as they see it.
  Status give_up(const Status& why);
  // The first member of whom nothing has come yet.
  Rank missing() const;

  // False: the packet makes no sense.
  bool take(Rank from, Packet& packet);
  // Tells the members which own regions are gone.
  void announce_removals();

  std::uint32_t size() const override { return static_cast<std::uint32_t>(members_.size()); }
  std::uint32_t self() const override { return self_; }
  Rank rank_of(std::uint32_t member) const override { return members_[member].rank; }
  ControlLine* control_lines(std::uint32_t member) override { return members_[member].tail->lines; }
  std::byte* staging(std::uint32_t member) override { return members_[member].segment.data(); }
  std::size_t staging_bytes() const override { return window_staging_bytes; }
  RegionRef locate(const void* data, std::size_t bytes) override;
  std::byte* map(std::uint32_t number, const RegionRef& ref, std::size_t bytes) override;
  bool reads_plain_memory() const override { return reads_plain_memory_; }
  Status read(std::uint32_t member, std::uintptr_t from, std::byte* to, std::size_t bytes) override;
  void tidy() override;
  std::uint32_t prepare_sleep() override { return own_bell().prepare(); }
  void sleep(std::uint32_t ticket, Deadline deadline) override { own_bell().sleep(ticket, deadline); }
  void cancel_sleep() override { own_bell().cancel(); }
  void prepare_poll() override { own_bell().prepare_poll(); }
  void wake_others() override;
  void interrupt() override { own_bell().interrupt(); }

 private:
  // Another member's registered memory.
  struct Foreign {
    UniqueFd fd;  // until it is mapped
    std::uint64_t file_offset = 0;
    std::size_t bytes = 0;
    std::size_t page_bytes = 0;  // what the file is mapped in
    Mapping mapping;
    std::byte* data = nullptr;
  };
  struct Member {
    Rank rank = no_rank;
    ShmLink* link = nullptr;
    UniqueFd fd;  // of the segment, until it is mapped
    Mapping segment;
    SegmentTail* tail = nullptr;
    PlainMemory plain_memory;
    bool published = false;
    bool confirmed = false;
    std::unordered_map<std::uint32_t, Foreign> regions;
  };
  struct Own {
    SharedRegion region;
    std::size_t told = 0;  // so many members know it
  };

  WakeFlag& own_bell() { return members_[self_].tail->bell; }
  void adopt(Member& member, Mapping segment);
  void tell(const Packet& packet, std::span<const int> fds = {});
  void differ(Rank from);
  bool take_region(Member& member, Packet& packet);
  void take_own_regions();
  bool announce(Own& own);
  Own* own_region(const void* data, std::size_t bytes);

  WindowDesk& desk_;
  const RegionTable* table_;
  std::vector<Member> members_;
  std::uint32_t self_;
  std::uint64_t number_ = 0;
  std::uint64_t fingerprint_;  // of the list of members
  Status refusal_;
  std::vector<Own> own_;  // by ascending address
  std::uint64_t own_version_ = 0;
  PlainMemoryOwner plain_memory_;
  bool reads_plain_memory_ = false;
  std::vector<Mapping> retired_;  // of regions that their owners removed
};

}  // namespace hocket::shm
