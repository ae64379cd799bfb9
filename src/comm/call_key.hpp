// CallKey: what a call has in common with another one for which all that was checked, chosen and bound holds, too: they
// differ in their buffers alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/comm/call_arguments.hpp"

namespace hocket::comm {

struct CallKey {
  Collective collective = Collective::barrier;
  std::size_t count = 0;
  int dtype = 0;
  std::size_t opaque_bytes = 0;
  int op = 0;
  Rank root = 0;
  std::int64_t timeout_ms = 0;
  int wire = 0;
  bool of_split = false, in_group = false;
  // Buffers that keep their distance overlap, or do not, as they did.
  bool sends = false, receives = false;
  std::uintptr_t distance = 0;

  // Whether a call may have a key: not where its operation is the caller's alone.
  static bool may_have(const CallArguments& call) { return !call.persistent && !call.from_any; }
  static CallKey of(const CallArguments& call) {
    return {.collective = call.collective,
            .count = call.count,
            .dtype = call.dtype,
            .opaque_bytes = call.opaque_bytes,
            .op = call.op,
            .root = call.root,
            .timeout_ms = call.timeout_ms,
            .wire = call.wire,
            .of_split = call.of_split,
            .in_group = call.in_group,
            .sends = call.send != nullptr,
            .receives = call.recv != nullptr,
            .distance = reinterpret_cast<std::uintptr_t>(call.recv) - reinterpret_cast<std::uintptr_t>(call.send)};
  }

  friend bool operator==(const CallKey&, const CallKey&) = default;
};

}  // namespace hocket::comm
