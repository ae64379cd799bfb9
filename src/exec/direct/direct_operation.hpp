// DirectOperation: a collective over a window, without messages. Its members announce the call and hear each other
// (Announcer); then it takes one of the paths (docs/internals/direct-paths.md), which follows from what all announced.
// Small data that goes one way (broadcast, scatter, gather, reduce, a prefix, or where a block is empty) does not make
// its senders wait: they run ahead, up to direct::run_ahead_max operations.
#pragma once

#include <cstdint>
#include <memory>
#include <variant>

#include "src/exec/direct/announcer.hpp"
#include "src/exec/direct/direct_run.hpp"
#include "src/exec/direct/gpu_path.hpp"
#include "src/exec/direct/mapped.hpp"
#include "src/exec/direct/mirrored_path.hpp"
#include "src/exec/direct/one_shot.hpp"
#include "src/exec/direct/pooled.hpp"
#include "src/exec/direct/single_copy.hpp"
#include "src/exec/direct/staged.hpp"
#include "src/exec/operation.hpp"
#include "src/spi/window.hpp"

namespace hocket {

class DirectOperation final : public Operation {
 public:
  // `use` outlives the operation. The context's ranks are the window's.
  explicit DirectOperation(WindowUse& use, std::shared_ptr<Context> context = std::make_shared<Context>());

  // Those of a call whose blocks vary; null: they are equal. Before every bind().
  void set_blocks(std::shared_ptr<const UnequalBlocks> blocks) { run_.given_blocks = std::move(blocks); }
  Status mark_streams() override;
  RanNow run_now(Recorder& recorder) override;
  Status start(const Tag& tag, Peers& peers) override;
  bool advance(Counters& counters) override;
  bool complete() const override { return phase_ == Phase::done || !failure().ok(); }
  std::span<const Direction> directions() const override { return {}; }
  bool can_do_without(Rank peer) const override { return announcer_.has_come(peer); }
  // Whether the peer has begun the next run over the window. Of one that is no member: true.
  bool has_gone_on(Rank peer) const { return announcer_.has_come(peer, 1); }
  bool is_small() const override { return run_.is_small && !binding().device; }
  void before_sleep() override { announcer_.before_sleep(); }
  Deadline next_look() const override;
  MemberSet awaited_members() const override;
  Missing missing() const override;
  Rank awaited() const override;
  std::string_view algorithm() const override;
  void withdraw() override;

 private:
  enum class Phase { meet, move, done, failed };  // failed: by what was moved at once

  bool meet(Counters& counters);
  bool meet_and_wake(Counters& counters);
  void choose_path(Counters& counters);
  [[gnu::noinline]] void choose_longer_path(Counters& counters);
  void begin_path(DirectPath path, Counters& counters);
  void tidy();
  void choose_staged();
  bool move(Counters& counters);
  bool waits_for_device() const;

  DirectRun run_;
  Announcer announcer_;
  Phase phase_ = Phase::done;
  std::variant<std::monostate, PooledPath, MappedPath, SingleCopyPath, StagedPath, GpuPath, MirroredPath> path_;
};

}  // namespace hocket
