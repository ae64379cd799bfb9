// What a member of a simulated window does next: the loops of src/exec/direct, with counts in place of memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "src/plan/direct/cost.hpp"
#include "src/plan/direct/stages.hpp"
#include "src/spi/schedule.hpp"

namespace hocket {

// What a line tells: that a member has announced its call, or how far it has come in one of the stages.
inline constexpr std::size_t announced = std::size(all_stages);
constexpr std::size_t sign_of(Stage stage) {
  return static_cast<std::size_t>(stage);
}
inline constexpr std::size_t signs = announced + 1;

// What all members may know of one call of the row.
struct WindowCall {
  std::array<std::vector<std::uint32_t>, signs> seen;  // by sign and count - 1: of how many members it is seen
  std::vector<bool> announced_by;                      // by member: whether its announcement is seen
  std::size_t claimed = 0, finished_seen = 0;          // parts that any member does
};

struct WindowMember {
  std::uint32_t self = 0;
  std::size_t call = 0;                           // of the row
  bool entered = false;                           // it has announced this call,
  bool heard = false;                             // heard the others,
  bool did_own = false;                           // and done the parts that are its own
  std::array<std::size_t, signs> told{}, seen{};  // own counts in this call, and what others see of these
  std::size_t announcements_seen = 0;             // of all calls
  std::uint32_t next_needed = 0;                  // in a call that goes one way: the first that may not be seen yet
  std::size_t next_part = 0, unseen_finished = 0;
};

struct DirectAction {
  DirectWork work{};
  bool calls = false;  // with what each call costs
  bool ends_call = false;
  std::optional<std::size_t> tells{};  // one more of this sign
  bool finishes_part = false;          // of those that any member does
  std::size_t round = 0;

  double bytes() const { return work.copied + work.combined + work.read; }
};

// The rules of one call, the same for all calls of a row.
class MemberRules {
 public:
  MemberRules(const DirectCall& call, DirectPath path, const DirectSetting& setting, bool reads_plain_memory);

  // Takes note that the member begins with it. Nothing: it must wait.
  std::optional<DirectAction> next(WindowMember& member, std::vector<WindowCall>& row) const;

 private:
  bool others_seen(const WindowMember& member, const WindowCall& call, std::size_t sign, std::size_t count) const;
  bool others_announced(const WindowMember& member, const std::vector<WindowCall>& row, std::size_t call) const;
  bool puts_payload(std::size_t bytes) const;
  bool may_enter(const WindowMember& member, const std::vector<WindowCall>& row) const;
  bool needed_seen(WindowMember& member, const WindowCall& call) const;
  std::optional<DirectAction> hear(WindowMember& member, const std::vector<WindowCall>& row) const;
  std::optional<DirectAction> stage(WindowMember& member, const WindowCall& call) const;
  std::optional<DirectAction> parts(WindowMember& member, WindowCall& call) const;
  std::optional<DirectAction> copy_in(const WindowMember& member, const WindowCall& call) const;
  std::optional<DirectAction> combine_own(const WindowMember& member, const WindowCall& call) const;
  std::optional<DirectAction> copy_out(const WindowMember& member, const WindowCall& call) const;
  bool slot_is_free(const WindowMember& member, const WindowCall& call, std::size_t round, Stage last_use) const;
  DirectWork work_on(const Part& part) const;
  double others() const { return static_cast<double>(exchange_.members() - 1); }

  DirectPath path_;
  DirectSetting setting_;
  DirectRule rule_;
  bool in_place_;
  Exchange exchange_;
  double fetch_block_;
};

}  // namespace hocket
