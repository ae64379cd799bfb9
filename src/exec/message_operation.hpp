// MessageOperation: one send or one receive over the link to its peer. It runs no schedule, since it is one step.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "src/exec/operation.hpp"
#include "src/exec/step_recorder.hpp"

namespace hocket {

class MessageOperation final : public Operation {
 public:
  // To `rank`, or from it. `algorithm`: what people call this way; static.
  MessageOperation(std::shared_ptr<Context> context, Rank rank, bool sends, std::string_view algorithm);

  Rank rank() const { return rank_; }
  bool sends() const { return direction_.front().outgoing; }

  RanNow run_now(Recorder& recorder) noexcept override;
  Status start(const Tag& tag, Peers& peers) override;
  // The link does it all.
  bool is_for_links_alone() const override { return true; }
  bool may_follow() const override { return may_follow_ && !is_bound_anew(); }
  bool advance(Counters&) override { return false; }
  bool complete() const override { return outstanding_ == 0 || !failure().ok(); }
  std::span<const Direction> directions() const override { return direction_; }
  void tell_waiting(Rank missing, Rank witness) override;
  Missing missing() const override;
  Rank awaited() const override { return outstanding_ != 0 ? rank_ : no_rank; }
  std::string_view algorithm() const override { return algorithm_; }

 private:
  struct Arrival : Completion {
    MessageOperation* operation = nullptr;
  };

  static void on_done(Completion& completion, const Status& status);
  void hand_over(const Tag& tag, std::size_t offset, std::size_t bytes);
  void count_piece(std::size_t bytes);
  void count_sent(Counters& counters, std::size_t bytes) {
    ++counters.messages_sent;
    counters.bytes_sent += bytes;
    with_rank_.sent(1, bytes);
  }
  void count_received(Counters& counters, std::size_t bytes) {
    counters.bytes_received += bytes;
    with_rank_.received(1, bytes);
  }

  const Rank rank_;
  bool runs_at_once_ = false;  // another run like the one before may be one call of the link
  bool may_follow_ = false;
  const std::array<Direction, 1> direction_;
  PeerCounters& with_rank_;
  Link* link_ = nullptr;             // also of the run before
  std::uint64_t* latest_ = nullptr;  // number of a message of this direction; where there is a link
  std::size_t bytes_ = 0;            // of the whole message
  Tag sent_tag_;                     // tag_ as it travels
  std::uint32_t outstanding_ = 0;    // of the pieces as which a long message travels
  Arrival arrival_;
  Tag tag_;  // of this run: where it runs inside another operation, that is the one with a number
  const std::string_view algorithm_;
  Context::Shared& shared_;
  StepRecorder* const steps_;        // null: they are not recorded
  StepRecorder::Number record_ = 0;  // of the message, all pieces together
};

}  // namespace hocket
