#include "src/comm/places.hpp"

#include <fmt/format.h>

#include <thread>

namespace hocket::comm {
namespace {

using namespace std::chrono_literals;

constexpr auto beat_every = 2s;
constexpr auto lease = 8s;  // without a beat for so long, a holder that is out of sight counts as gone
constexpr auto look_every = 100ms;

}  // namespace

std::string Places::key(std::uint64_t epoch, Rank rank) const {
  return fmt::format("{}/{}/place/{}", job_, epoch, rank);
}

Result<Places::Standing> Places::look(std::uint64_t epoch, Rank rank, Deadline deadline) const {
  const auto found = store_.peek(key(epoch, rank), deadline);
  if (!found.ok()) return found.status();
  return *found ? standing_of(key(epoch, rank), **found, deadline) : Standing{};
}

Result<Places::Standing> Places::take(std::uint64_t epoch, Rank rank, const Bequest& bequest, Deadline deadline) {
  const std::string place = key(epoch, rank);
  std::optional<std::string> expected;
  for (;;) {
    auto found = store_.claim(place, expected ? std::optional<std::string_view>(*expected) : std::nullopt,
                              mine_.serialise(), bequest, deadline);
    if (!found.ok()) return found.status();
    if (*found == expected) {
      held_ = place;
      beaten_ = Deadline::Clock::now();
      return Standing{.holder = Holder::this_creation};
    }
    expected = std::move(*found);
    if (!expected) continue;
    Standing standing = standing_of(place, *expected, deadline);
    if (standing.holder == Holder::this_process || standing.holder == Holder::another) return standing;
  }
}

// Whose claim the text is; nobody's if whoever made it is gone.
Places::Standing Places::standing_of(const std::string& key, const std::string& text, Deadline deadline) const {
  const auto claim = Claim::parse(text);
  if (!claim) return {};
  if (claim->token == mine_.token) return {.holder = Holder::this_creation};
  const bool own = claim->process == mine_.process;
  const std::optional<bool> alive = own ? std::nullopt : claim->process.is_alive();
  const bool there = alive ? *alive : store_.claims_end_with_owner() || shows_life(key, text, deadline);
  if (!there) return {};
  return {.holder = own ? Holder::this_process : Holder::another, .process = claim->process.describe()};
}

bool Places::shows_life(const std::string& key, const std::string& text, Deadline deadline) const {
  for (const Deadline end = Deadline::after(lease); !end.passed(); std::this_thread::sleep_for(look_every)) {
    if (deadline.passed() || stop_.stop_requested()) return true;  // for all that is known
    const auto now = store_.peek(key, deadline);
    if (!now.ok()) return true;
    if (!*now) return false;
    if (**now != text) return true;
  }
  return false;
}

Status Places::beat(Deadline deadline) {
  if (held_.empty() || store_.claims_end_with_owner()) return {};
  if (Deadline::Clock::now() - beaten_ < beat_every) return {};
  const std::string before = mine_.serialise();
  ++mine_.beat;
  const auto found = store_.claim(held_, before, mine_.serialise(), {}, deadline);
  if (!found.ok()) return found.status();
  beaten_ = Deadline::Clock::now();
  if (*found == before) return {};
  held_.clear();
  return {Code::rank_taken,
          "another process took this rank, because this one showed no sign of life for a while; give each process a "
          "rank of its own"};
}

void Places::release(Deadline deadline) {
  if (held_.empty()) return;
  const std::string place = std::exchange(held_, {});
  const auto found = store_.peek(place, deadline);
  if (found.ok() && *found == mine_.serialise()) (void)store_.remove(place, deadline);
}

}  // namespace hocket::comm
