// CallKey: what a call has in common with another one for which all that was checked, chosen and bound holds, too: they
// differ in their buffers alone.
#pragma once

#include <cstddef>
#include <cstdint>

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

  // Whether a call may have a key: not where its operation is the caller's alone.
  static bool may_have(const CallArguments& call) { return !call.persistent && !call.from_any; }
  static CallKey of(const CallArguments& call) {
    return {.count = call.count,
            .opaque_bytes = call.opaque_bytes,
            .timeout_ms = call.timeout_ms,
            .distance = distance_in(call),
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

  // Whether it is the call's, without making another one. Every call passes here.
  bool fits(const CallArguments& call) const {
    return call.count == count && distance_in(call) == distance && call.root == root && call.dtype == dtype &&
           call.op == op && call.collective == collective && (call.send != nullptr) == sends &&
           (call.recv != nullptr) == receives && call.opaque_bytes == opaque_bytes && call.timeout_ms == timeout_ms &&
           call.wire == wire && call.of_split == of_split && call.in_group == in_group;
  }

 private:
  // One buffer alone keeps every distance.
  static std::uintptr_t distance_in(const CallArguments& call) {
    if (call.send == nullptr || call.recv == nullptr) return 0;
    return reinterpret_cast<std::uintptr_t>(call.recv) - reinterpret_cast<std::uintptr_t>(call.send);
  }
};

}  // namespace hocket::comm
