// Window: memory of all ranks of one host, mapped into each of them. What the direct paths run on.
//
// Members are numbered 0 … size()-1. Each member has control lines (which it writes and all others read), a staging
// area (likewise) and any number of registered regions. Everything here is plain memory: a writer uses release stores
// on the words of the lines, a reader acquire loads.
//
// Thread rule: as Transport (one thread at a time), except wake_others(), wake_sleepers() and interrupt(), which any
// thread may call. map() may find a peer's end and tell the TransportListener.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "src/spi/buffer.hpp"
#include "src/spi/plain_reads.hpp"
#include "src/spi/status.hpp"

namespace hocket {

inline constexpr std::size_t cache_line_bytes = 64;

// What the words mean is the direct paths' business.
struct alignas(cache_line_bytes) ControlLine {
  std::atomic<std::uint64_t> words[cache_line_bytes / sizeof(std::uint64_t)];
};
static_assert(sizeof(ControlLine) == cache_line_bytes);

// Where registered memory lies, as one member tells the others: it fits into two words of a control line.
struct RegionRef {
  std::uint32_t region = 0;  // 0: the memory is not registered
  std::uint64_t offset = 0;

  friend bool operator==(const RegionRef&, const RegionRef&) = default;
};

// Some of a window's members. Those of a large one share bits.
using MemberSet = std::uint64_t;
inline constexpr MemberSet all_members = ~MemberSet{0};
constexpr MemberSet set_of(std::uint32_t member) {
  return MemberSet{1} << member % std::numeric_limits<MemberSet>::digits;
}

class Window {
 public:
  virtual ~Window() = default;

  virtual std::uint32_t size() const = 0;
  virtual std::uint32_t self() const = 0;  // own number
  virtual Rank rank_of(std::uint32_t member) const = 0;

  // `lines_per_member` lines, zero at first. Own lines are written, others' read.
  static constexpr std::size_t lines_per_member = 2176;
  virtual ControlLine* control_lines(std::uint32_t member) = 0;
  // The same length for all members, a multiple of 2 MiB; contents undefined at first. This member's is committed by
  // the first call that asks for it, if not before: touching it cannot fault. std::bad_alloc where memory has run out.
  // Another member's may be touched once that one has said that data is there, or that it has asked for it.
  virtual std::byte* staging(std::uint32_t member) = 0;
  virtual std::size_t staging_bytes() const = 0;

  // Own memory as others can find it; region 0 where these bytes do not lie within one registered region. Sends what
  // other members need for mapping it, at the first time, so call this before a control line tells them.
  virtual RegionRef locate(const void* data, std::size_t bytes) = 0;
  // Another member's registered memory in this process's address space; maps it at first use. Null where the member has
  // no such region any more or the range does not lie in it (the caller then breaks with Code::invalid_argument naming
  // the member). Never null for own memory that locate() has found.
  virtual std::byte* map(std::uint32_t member, const RegionRef& ref, std::size_t bytes) = 0;
  // Whether every member's plain memory can be read by this one: found out at the first question, constant since.
  virtual bool reads_plain_memory() = 0;
  // What such a read takes: as the first member has measured when the window was opened, in less than a millisecond.
  // Equal on all members. Infinite where nothing could be read, or was to be.
  virtual PlainReads plain_reads() = 0;
  // Copies bytes that another member has at an address of its own. Requires reads_plain_memory(). Errors name the
  // member: Code::peer_lost where it has ended, Code::invalid_argument where it has no memory there.
  virtual Status read(std::uint32_t member, std::uintptr_t from, std::byte* to, std::size_t bytes) = 0;
  // Call now and then between operations, while no pointer from map() is in use: tells the others which own regions are
  // gone, and unmaps those that their owners removed. Cheap when there are none.
  virtual void tidy() = 0;

  // Sleeping, when spinning did not help: prepare_sleep() announces it, and for which members this one waits, at least
  // one, and returns a ticket; then look once more at what is waited for, and whether it waits for the same members;
  // then sleep(ticket), which returns after a wake_others() of one of them or an interrupt() since the ticket, or at
  // the deadline. The member that wakes others pays a fence, and a load for each member who does not sleep.
  virtual std::uint32_t prepare_sleep(MemberSet awaited) = 0;
  virtual void sleep(std::uint32_t ticket, Deadline deadline) = 0;
  virtual void cancel_sleep() = 0;
  // In place of prepare_sleep(), where links are waited for too: until cancel_sleep(), another member's wake_others()
  // ends the poll(2) of a member that has armed the window's transport.
  virtual void prepare_poll() = 0;
  virtual void wake_others() = 0;
  // The same behind a full fence that the caller has passed since it wrote what they wait for.
  virtual void wake_sleepers() = 0;
  // Ends this process's own sleep(), from any of its threads.
  virtual void interrupt() = 0;
};

}  // namespace hocket
