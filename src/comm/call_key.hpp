// CallKey: what a call has in common with another one for which all that was checked, chosen and bound holds, too: they
// differ in their buffers alone.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "src/comm/call_arguments.hpp"

namespace hocket::comm {

struct CallKey {
  std::size_t count = 0;
  std::size_t opaque_bytes = 0;
  std::int64_t timeout_ms = 0;
  std::uintptr_t distance = 0;  // buffers that keep theirs overlap, or do not, as they did
  int dtype = 0;
  int op = 0;
  Rank root = 0;
  int wire = 0;
  Collective collective = Collective::barrier;
  bool of_split = false, in_group = false;
  bool sends = false, receives = false;
  std::array<std::uint8_t, 3> reserved = {};

  // Whether a call may have a key: not where its operation is the caller's alone.
  static bool may_have(const CallArguments& call) { return !call.persistent && !call.from_any; }
  static CallKey of(const CallArguments& call) {
    return {.count = call.count,
            .opaque_bytes = call.opaque_bytes,
            .timeout_ms = call.timeout_ms,
            .distance = reinterpret_cast<std::uintptr_t>(call.recv) - reinterpret_cast<std::uintptr_t>(call.send),
            .dtype = call.dtype,
            .op = call.op,
            .root = call.root,
            .wire = call.wire,
            .collective = call.collective,
            .of_split = call.of_split,
            .in_group = call.in_group,
            .sends = call.send != nullptr,
            .receives = call.recv != nullptr};
  }

  friend bool operator==(const CallKey& left, const CallKey& right) {
    using Words = std::array<std::uint64_t, 7>;
    const auto a = std::bit_cast<Words>(left), b = std::bit_cast<Words>(right);
    std::uint64_t differing = 0;
    for (std::size_t i = 0; i < a.size(); ++i) differing |= a[i] ^ b[i];
    return differing == 0;
  }
};
static_assert(std::has_unique_object_representations_v<CallKey>);

}  // namespace hocket::comm
