#include "transports/shm/ring.hpp"

#include <algorithm>
#include <utility>

namespace hocket::shm {

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(ring_data_bytes % ring_front_bytes == 0 && piece_bytes <= ring_data_bytes,
              "what is mapped is whole pages");

Result<UniqueFd> RingWriter::create() {
  auto fd = create_memory("messages", ring_bytes);
  if (!fd) return fd;
  auto mapping = map_ring(fd->get(), ring_front_bytes, ring_data_bytes);
  if (!mapping) return mapping.status();
  mapping_ = std::move(*mapping);
  return fd;
}

void RingWriter::enter() {
  entered_ = true;
  // A piece that begins before the end reaches into the pages behind it. Where the kernel cannot, it faults as before.
  (void)enter_pages(mapping_.data() + ring_front_bytes, ring_data_bytes + piece_bytes);
}

void RingWriter::look_at_taken() {
  taken_ = control().taken.load(std::memory_order_acquire);
  if (taken_ % cache_line_bytes != 0) taken_ = written_ + cache_line_bytes;
  if (written_ - taken_ > ring_room_max) looks_at_ = 0;
}

std::size_t RingWriter::room() {
  if (!mapping_) return 0;
  if (written_ - taken_ >= ring_data_bytes / 2) look_at_taken();
  return known_room();
}

std::size_t RingWriter::room_before(std::size_t message) {
  if (!mapping_) return 0;
  look_at_taken();
  const std::uint64_t unread = written_ - taken_, offset = written_ % ring_data_bytes;
  if (unread > ring_room_max) return ring_room_max - unread;
  const bool front_is_free = unread + ring_stretch_bytes <= offset;
  const bool are_short = message <= short_message_bytes && written_ - short_from_ >= ring_stretch_bytes;
  if (front_is_free && are_short) go_to_front();
  const std::size_t room = known_room();
  looks_at_ = written_ + std::min<std::size_t>(ring_stretch_bytes - written_ % ring_stretch_bytes, room / 2);
  return room;
}

void RingWriter::go_to_front() {
  std::byte* const here = at();
  publish(ring_data_bytes - written_ % ring_data_bytes);
  show(here, MessageHeader::front_is_next);
}

bool RingWriter::is_taken(std::uint64_t end) {
  if (taken_ < end) look_at_taken();
  return taken_ >= end;
}

Status RingReader::open(int fd) {
  if (Status checked = check_memory(fd, ring_bytes); !checked.ok()) return checked;
  auto mapping = map_ring(fd, ring_front_bytes, ring_data_bytes);
  if (!mapping) return mapping.status();
  mapping_ = std::move(*mapping);
  return {};
}

bool RingReader::give_back_to(std::uint64_t whole) {
  constexpr std::size_t stretch = ring_data_bytes / 16;
  const std::uint64_t before = std::exchange(given_, whole);
  control().taken.store(whole, std::memory_order_release);
  if (whole / stretch == before / stretch) return false;
  written_ = control().written.load(std::memory_order_acquire);
  return written_ - whole <= ring_data_bytes / 2;
}

}  // namespace hocket::shm
