// How the data of a call is cut so that one slice travels while another waits: what whoever runs a plan, and whoever
// simulates it, must do alike.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hocket {

// What a slice of one chunk has; see Layout.
inline constexpr std::size_t call_slice_bytes = std::size_t{512} << 10;
// How many slices run side by side in one group, so that one's waiting hides behind the other's work; more only cost
// memory.
constexpr std::uint32_t slices_in_group(std::size_t slices) {
  return slices >= 2 ? 2 : 1;
}
// What is longer travels as several messages: algorithms that move several blocks at once do not cut these into slices,
// and a link takes no message of 4 GiB.
inline constexpr std::size_t message_bytes_max = std::size_t{1} << 30;
// In place of call_slice_bytes, of blocks that only their two ends know, between ranks that share a window: nothing
// waits for a slice there, and a block that is read in its place is read fastest as a whole.
inline constexpr std::size_t block_slice_bytes = message_bytes_max;
// Times that a program runs at the same time: one group of slices waits while the other works.
inline constexpr std::size_t groups_in_flight = 2;

}  // namespace hocket
