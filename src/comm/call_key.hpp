// CallKey: what a call has in common with another one for which all that was checked, chosen and bound holds, too: they
// differ in their buffers alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "src/base/load_alone.hpp"
#include "src/comm/call_arguments.hpp"

namespace hocket::comm {

class CallKey {
 public:
  // That of no call.
  CallKey() = default;
  // Whether a call may have a key: not where its operation is the caller's alone.
  static bool may_have(const CallArguments& call) { return !call.persistent && !call.from_any; }
  static CallKey of(const CallArguments& call) {
    CallKey key;
    key.collective_ = call.collective;
    key.distance_ = distance_in(call);
    key.manner_ = manner_of(call);
    key.count_ = call.count;
    key.dtype_ = call.dtype;
    key.op_ = call.op;
    key.root_ = call.root;
    key.timeout_ms_ = call.timeout_ms;
    key.opaque_bytes_ = call.opaque_bytes;
    return key;
  }
  // Whether it is the call's. Every call passes here, so there is one decision, at the end.
  [[gnu::always_inline]] bool fits(const CallArguments& call) const {
    return call.collective == collective_ && ((distance_in(call) ^ distance_) | differences(call)) == 0;
  }
  // The same of the key of a send and a call that is a send, or of two receives, which have one buffer.
  [[gnu::always_inline]] bool fits_message(const CallArguments& call) const {
    const bool has_no_buffer = buffer_of(call) == nullptr;
    return has_no_buffer == (distance_ == no_buffers) && differences(call) == 0;
  }

 private:
  using Word = std::uint64_t;
  static_assert(offsetof(CallArguments, of_split) == offsetof(CallArguments, wire) + sizeof(std::uint32_t));
  static_assert(offsetof(CallArguments, from_any) + sizeof(bool) == offsetof(CallArguments, wire) + sizeof(Word));

  // The wire format, and four truth values behind it. Mostly all of that was cleared together.
  static Word manner_of(const CallArguments& call) {
    Word manner = 0;
    std::memcpy(&manner, &call.wire, sizeof manner);
    return manner;
  }
  // The bits in which a number that the caller has just written differs.
  template <class Number>
  [[gnu::always_inline]] static Word difference(const Number& given, Number kept) {
    return static_cast<std::make_unsigned_t<Number>>(load_alone(given) ^ kept);
  }
  [[gnu::always_inline]] Word differences(const CallArguments& call) const {
    return difference(call.count, count_) | difference(call.dtype, dtype_) | difference(call.op, op_) |
           difference(call.root, root_) | difference(call.timeout_ms, timeout_ms_) |
           difference(call.opaque_bytes, opaque_bytes_) | difference(manner_of(call), manner_);
  }
  static constexpr Word no_buffers = Word{1} << 63;
  // Buffers that keep theirs overlap, or do not, as they did. One buffer alone keeps every distance; none that two have
  // is that large.
  static Word distance_in(const CallArguments& call) {
    if (call.send == nullptr) return call.recv == nullptr ? no_buffers : no_buffers + 1;
    if (call.recv == nullptr) return no_buffers + 2;
    return reinterpret_cast<std::uintptr_t>(call.recv) - reinterpret_cast<std::uintptr_t>(call.send);
  }

  Collective collective_ = Collective::barrier;
  Word manner_ = ~Word{0};  // no call's
  Word distance_ = 0;
  std::size_t count_ = 0;
  int dtype_ = 0, op_ = 0;
  Rank root_ = 0;
  std::int64_t timeout_ms_ = 0;
  std::size_t opaque_bytes_ = 0;
};

}  // namespace hocket::comm
