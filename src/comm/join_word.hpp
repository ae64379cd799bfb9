// What the members of a communicator tell each other while newcomers join.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "src/base/failure_code.hpp"
#include "src/comm/joining_point.hpp"

namespace hocket::comm {

// It travels as it lies in memory: all members are of one build. Making one needs no memory.
struct JoinWord {
  int code = 0;  // of a failure
  Rank seen_by = no_rank, peer = no_rank;
  std::uint64_t attempt = 0;
  std::int64_t timeout_ms = 0;
  Rank newcomers = 0;
  std::array<char, 476> text{};  // of a failure; or the joining point

  void say(std::string_view what) { what.copy(text.data(), text.size() - 1); }
  static JoinWord failed(const Status& why) {
    JoinWord word;
    if (why.ok()) return word;
    word.code = static_cast<int>(why.code());
    word.seen_by = why.cause().rank;
    word.peer = why.cause().peer;
    word.say(why.message());
    return word;
  }
  // `from`: whose word it is.
  Status status(Rank from) const {
    if (code == 0) return {};
    const bool known = is_failure(static_cast<std::uint64_t>(code));
    return Status(Cause{.code = known ? static_cast<Code>(code) : Code::protocol_error,
                        .message = text.data(),
                        .rank = seen_by == no_rank ? from : seen_by,
                        .peer = peer});
  }
};

// Of what all say, what keeps the attempt from counting: rather what another attempt would not mend.
inline Status first_failure(const std::vector<JoinWord>& words) {
  Status first;
  for (const JoinWord& word : words) {
    const Status status = word.status(static_cast<Rank>(&word - words.data()));
    if (!status.ok() && (first.ok() || (may_try_again_after(first) && !may_try_again_after(status)))) first = status;
  }
  return first;
}

}  // namespace hocket::comm
