// What stores do that have only the simple functions.
#include "src/spi/store.hpp"

#include <algorithm>
#include <thread>

namespace hocket {
namespace {

constexpr std::chrono::milliseconds look_around_every{250};
constexpr std::chrono::milliseconds poll_pause{20};

Deadline slice(Deadline deadline) {
  return earlier(deadline, Deadline::after(look_around_every));
}

std::string key_of(const Allgather& meeting, Rank member) {
  return std::string(meeting.prefix) + std::to_string(member);
}

// Whatever the key holds: in a store that cannot see who is gone, a predecessor's value.
Status claim_anyway(Store& store, const std::string& key, std::string_view value, Deadline deadline) {
  for (std::optional<std::string> before;;) {
    auto found =
        store.claim(key, before ? std::optional<std::string_view>(*before) : std::nullopt, value, {}, deadline);
    if (!found.ok() || *found == before) return found.status();
    before = std::move(*found);
  }
}

// Reads on behind `values` until all members' are there. Code::timeout: it is time to look around, and `values` are
// kept for the next call. No request is cut short by that, so each call reads one more where it is there.
Status read_on(Store& store, const Allgather& mine, Deadline deadline, std::vector<std::string>& values) {
  const Deadline next_look = slice(deadline);
  while (values.size() < static_cast<std::size_t>(mine.members)) {
    if (next_look.passed()) return {Code::timeout, "not all values have been read"};
    auto value = store.get(key_of(mine, static_cast<Rank>(values.size())), slice(deadline));
    if (!value.ok()) return value.status();
    values.push_back(std::move(*value));
  }
  return {};
}

// Member 0: the outcome, set if everyone has come. Code::timeout: not yet; call again with the same `values`.
Result<std::string> pronounce(Store& store, const Allgather& mine, Deadline deadline, const Store::Sound& sound,
                              std::vector<std::string>& values) {
  Status status = read_on(store, mine, deadline, values);
  if (status.ok() && sound) {
    status = sound(values);
    if (!status.ok()) {  // one of them is another by now, or is to be
      values.clear();
      std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(poll_pause, deadline.remaining()));
    }
  }
  if (!status.ok()) {
    if (status.code() != Code::timeout) return status;
    auto outcome = store.peek(mine.outcome, deadline);
    if (!outcome.ok()) return outcome.status();
    if (*outcome) return std::move(**outcome);
    return status;
  }
  auto before = store.compare_and_set(mine.outcome, std::nullopt, mine.complete, deadline);
  if (!before.ok()) return before.status();
  return std::move(*before).value_or(std::string(mine.complete));
}

}  // namespace

Result<std::string> Store::await(std::string_view key, Deadline deadline, const LookAround& look_around) {
  for (;;) {
    auto value = get(key, slice(deadline));
    if (value.ok() || value.status().code() != Code::timeout || deadline.passed()) return value;
    if (Status status = look_around(); !status.ok()) return status;
  }
}

Result<Allgathered> Store::allgather(const Allgather& mine, Deadline deadline, const LookAround& look_around,
                                     const Sound& sound) {
  if (Status claimed = claim_anyway(*this, key_of(mine, mine.member), mine.value, deadline); !claimed.ok())
    return claimed;
  Result<std::string> outcome = Status(Code::timeout, "");
  std::vector<std::string> values;
  while (mine.member == 0) {
    outcome = pronounce(*this, mine, deadline, sound, values);
    if (outcome.ok() || outcome.status().code() != Code::timeout || deadline.passed()) break;
    if (Status status = look_around(); !status.ok()) return status;
  }
  if (mine.member != 0) outcome = await(mine.outcome, deadline, look_around);
  if (!outcome.ok()) return outcome.status();
  Allgathered all{.outcome = std::move(*outcome), .values = {}};
  for (const Rank member : mine.wanted) {
    auto value = peek(key_of(mine, member), deadline);
    if (!value.ok()) return value.status();
    all.values.push_back(std::move(*value));
  }
  return all;
}

}  // namespace hocket
