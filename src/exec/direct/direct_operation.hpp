// DirectOperation: a collective over a window, without messages.
//
// Every member announces the operation with one line on its board: its turn (the number of the operation on this
// window), the call's signature, and where its data is. That line is the ready flag, the address and the check for
// mismatches in one. What follows depends on what all members announced:
//   one-shot  everyone's data is small and lies in its announcement or staging: each member combines what it needs
//             itself; nobody waits for anybody again
//   pooled    the same where members outnumber cores and there is more to combine: whoever is awake combines parts, for
//             everybody
//   mapped    everyone's buffers are registered: members share out the parts, and each reads all inputs and writes all
//             outputs of its parts (2·S bytes of memory traffic per rank for an allreduce, the least possible)
//   single copy  everyone can read everyone's plain memory: each member reads what it needs where it lies
//   staged    otherwise: through the staging areas
// The last two run in rounds, two-shot and pipelined.
// Small data that goes one way (broadcast, scatter, gather, reduce) does not make its senders wait: they run ahead, up
// to board::run_ahead_max operations.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "src/exec/direct/announcement.hpp"
#include "src/exec/direct/board.hpp"
#include "src/exec/operation.hpp"
#include "src/plan/direct/exchange.hpp"
#include "src/plan/direct/path.hpp"
#include "src/spi/window.hpp"

namespace hocket {

// What the operations on one window share.
struct WindowUse {
  Window* window = nullptr;
  std::uint64_t turn = 0;     // of the operation begun last
  std::uint64_t stamped = 0;  // how many operations have used stamps: those that take more than announcements
  std::vector<std::uint64_t> heard = {};  // by member: up to which turn its calls have been checked
  std::uint64_t everyone_heard = 0;       // at most the least of these
  struct Call {
    Signature signature;
    std::uint32_t communicator = 0;
    std::uint32_t digest = 0;
  };
  std::array<Call, board::announcements> calls = {};  // own ones, by turn
  Call& call(std::uint64_t of_turn) { return calls[of_turn % board::announcements]; }
  SingleCopy single_copy = SingleCopy::automatic;
  const TransportListener* names = nullptr;  // of communicators, for messages
  bool shares_work = false;  // members outnumber cores: whoever is awake takes the next part. Equal on all members
};

class DirectOperation final : public Operation {
 public:
  // `use` outlives the operation. The context's ranks are the window's.
  explicit DirectOperation(WindowUse& use, std::shared_ptr<Context> context = std::make_shared<Context>());

  Status start(const Tag& tag, Peers& peers) override;
  bool advance(Counters& counters) override;
  bool complete() const override { return phase_ == Phase::done || !failure().ok(); }
  std::span<const Direction> directions() const override { return {}; }
  Window* window() const override { return use_.window; }
  bool can_do_without(Rank peer) const override;
  void before_sleep() override { settle_waking(); }
  void tell_waiting() override;
  Missing missing() const override;
  std::string_view algorithm() const override { return path_; }
  void withdraw() override;

 private:
  enum class Phase { announce, gather, one_shot, pooled, mapped, mapped_end, staged, done };

  void announce(Counters& counters);
  DirectSetting setting() const {
    return {.staging_bytes = use_.window->staging_bytes(),
            .shares_work = use_.shares_work,
            .single_copy = use_.single_copy};
  }
  bool needs(std::uint32_t member) const;
  void put_payload(Announcement& own, Counters& counters);
  std::uint64_t turn_before() const;
  bool may_announce();
  bool read_announcements();
  bool hear(std::uint32_t member, std::uint64_t turn);
  bool find_mismatch(std::uint32_t member, std::uint64_t turn);
  void choose_path();
  std::byte* payload_slot(std::uint32_t member) const;

  bool someone_has_withdrawn() const;
  bool has_done_its_part(std::uint32_t member) const;
  std::chrono::nanoseconds silence_of(std::uint32_t member) const;

  void run_one_shot();
  void begin_pooled();
  bool advance_pooled();
  const std::byte* payload_of(std::uint32_t member) const;
  void begin_mapped();
  bool map_buffers();
  bool advance_mapped(Counters& counters);
  bool mapped_finished();
  std::size_t claim_task();
  void finish_task();
  void begin_staged();
  bool advance_staged(Counters& counters);
  bool copy_in(Counters& counters);
  bool combine_own();
  bool copy_out();
  bool combine_single_copy(const Part& part);
  bool fetch(std::uint32_t member, std::uintptr_t from, std::byte* to, std::size_t bytes);
  std::byte* fetch_slot(std::uint32_t member) const;
  std::byte* staged_input(std::uint32_t member, std::size_t round, std::uint32_t part) const;
  std::byte* staged_result(std::uint32_t member, std::size_t round) const;
  std::uint64_t stamp(std::size_t count) const { return (stamped_ << count_bits) | count; }
  void publish(std::size_t index, std::size_t count);
  bool everyone_reached(std::size_t index, std::size_t count) const;
  std::atomic<std::uint64_t>& word(std::uint32_t member, std::size_t line, std::size_t index) const {
    return use_.window->board(member)[line].words[index];
  }
  // Waking costs a fence, which holds up the first looks at the others' announcements; so these come first.
  void settle_waking();

  static constexpr std::size_t no_task = SIZE_MAX;
  static constexpr unsigned count_bits = 22;  // of a stamp; the rest numbers the operations that use stamps

  WindowUse& use_;
  const std::uint32_t members_, self_;
  Phase phase_ = Phase::done;
  std::string_view path_;  // that was chosen
  std::uint64_t turn_ = 0;
  std::uint64_t stamped_ = 0;  // the number of this operation in its stamps
  Exchange exchange_;
  int polls_to_waking_ = -1;                 // until the others are woken; -1: they have been
  std::uint32_t next_member_ = 0;            // first whose announcement has not been read
  std::vector<Announcement> announcements_;  // of this turn, by member
  std::vector<const std::byte*> sources_;    // scratch for combine()
  std::vector<std::byte*> targets_;
  std::vector<const std::byte*> mapped_inputs_;  // by member
  std::vector<std::byte*> mapped_outputs_;
  bool buffers_mapped_ = false;
  std::size_t own_next_ = 0;  // mapped, without sharing: my next part
  DirectRule rule_;
  bool single_copy_ = false;                                   // staged: without the staging
  std::size_t copied_in_ = 0, combined_ = 0, copied_out_ = 0;  // staged: rounds
};

}  // namespace hocket
