// OpeningOperation: opens a window beside whatever else is under way: its members wait for each other as in a call, so
// that other calls go on, and the end of a rank or a deadline breaks everything as it always does.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "src/exec/operation.hpp"
#include "src/spi/window_opening.hpp"

namespace hocket {

class OpeningOperation final : public Operation {
 public:
  // Both are called by the thread that progresses. End takes the window, or why a member refused; what it returns is
  // how the operation ends.
  using Begin = std::function<Result<std::unique_ptr<WindowOpening>>(Deadline)>;
  using End = std::function<Status(Result<std::unique_ptr<Window>>)>;

  OpeningOperation(std::shared_ptr<Context> context, Begin begin, End end)
      : Operation(std::move(context)), begin_(std::move(begin)), end_(std::move(end)) {}

  Status start(const Tag& tag, Peers& peers) override;
  bool advance(Counters& counters) override;
  bool complete() const override { return opening_ == nullptr || !failure().ok(); }
  std::span<const Direction> directions() const override { return {}; }
  bool can_do_without(Rank peer) const override { return opening_ == nullptr || !opening_->needs(peer); }
  void tell_waiting(Rank missing, Rank witness) override;
  Missing missing() const override;
  void withdraw() override { opening_.reset(); }
  std::string_view algorithm() const override { return "window"; }

 private:
  const Begin begin_;
  const End end_;
  Peers* peers_ = nullptr;
  std::unique_ptr<WindowOpening> opening_;  // null: it has not begun, or is over
};

}  // namespace hocket
