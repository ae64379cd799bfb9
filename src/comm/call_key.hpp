// CallKey: what a call has in common with another one for which all that was checked, chosen and bound holds, too: they
// differ in their buffers alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

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
    key.flags_ = read<Flags>(call, offsetof(CallArguments, of_split));
    for (std::size_t i = 0; i < words; ++i) key.words_[i] = word_in(call, i);
    return key;
  }
  // Whether it is the call's. Every call passes here, so there is one decision, at the end.
  [[gnu::always_inline]] bool fits(const CallArguments& call) const {
    std::uint64_t differences = distance_in(call) ^ distance_;
    differences |= read<Flags>(call, offsetof(CallArguments, of_split)) ^ flags_;
    for (std::size_t i = 0; i < words; ++i) differences |= word_in(call, i) ^ words_[i];
    return call.collective == collective_ && differences == 0;
  }
  // The same of the key of a send and a call that is a send, or of two receives, which have one buffer.
  [[gnu::always_inline]] bool fits_message(const CallArguments& call) const {
    std::uint64_t differences = std::uint64_t{buffer_of(call) == nullptr} ^ std::uint64_t{distance_ == no_buffers};
    differences |= read<Flags>(call, offsetof(CallArguments, of_split)) ^ flags_;
    for (std::size_t i = 0; i < words; ++i) differences |= word_in(call, i) ^ words_[i];
    return differences == 0;
  }

 private:
  using Word = std::uint64_t;
  using Flags = std::uint32_t;
  // From the count on, with nothing between them; then come the flags.
  static constexpr std::size_t words = 5;
  static_assert(offsetof(CallArguments, of_split) == offsetof(CallArguments, count) + words * sizeof(Word));
  static_assert(offsetof(CallArguments, from_any) + sizeof(bool) == offsetof(CallArguments, of_split) + sizeof(Flags));

  template <class Number>
  static Number read(const CallArguments& call, std::size_t offset) {
    Number number = 0;
    std::memcpy(&number, reinterpret_cast<const std::byte*>(&call) + offset, sizeof number);
    return number;
  }
  static Word word_in(const CallArguments& call, std::size_t index) {
    return read<Word>(call, offsetof(CallArguments, count) + index * sizeof(Word));
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
  Word distance_ = 0;
  Flags flags_ = ~Flags{0};  // no call's: they are truth values
  std::array<Word, words> words_{};
};

}  // namespace hocket::comm
