// Operation: one call while it runs. What all kinds have in common; a ScheduleOperation runs a plan over links, a
// DirectOperation runs over a window.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "src/exec/binding.hpp"
#include "src/exec/context.hpp"
#include "src/exec/manner.hpp"
#include "src/exec/operation_record.hpp"
#include "src/exec/peers.hpp"
#include "src/exec/run_end.hpp"
#include "src/exec/run_state.hpp"
#include "src/exec/started.hpp"
#include "src/spi/transport.hpp"

namespace hocket {

class CopiedMemory;
class Recorder;

// Thread rule: one thread at a time, the one that progresses; finished() and status() from any thread.
class Operation : public RunEnd, public std::enable_shared_from_this<Operation> {
 public:
  // `context`: whose call it is. `window`: over which it runs; null: over links.
  explicit Operation(std::shared_ptr<Context> context, Window* window = nullptr)
      : Operation(std::move(context), window, window == nullptr) {}
  // `uses_links`: what follows runs over links, too.
  Operation(std::shared_ptr<Context> context, Window* window, bool uses_links)
      : window_(window), uses_links_(uses_links), context_(std::move(context)) {}

  // Makes it ready for another run. Requires that no run is going on. Persistent: for runs to come, each of which
  // begins with restart(); nobody else may bind it.
  void bind(const Binding& binding, bool persistent = false);
  // The same, to other buffers of the same kind. Requires can_move().
  void bind_again(const std::byte* input, std::byte* output) {
    set_buffers(input, output);
    may_be_asked_ = false;
    restart();
  }
  // The same for a run_now() alone, where the run before has ended well.
  void move_on(const std::byte* input, std::byte* output) {
    set_buffers(input, output);
    may_be_asked_ = false;
  }
  // What has been moved on, and has begun, takes longer.
  void take_longer() {
    clock_.reset();
    run_longer();
  }
  // Whether all that it is bound to but the caller's buffers may serve another run.
  bool can_move() const { return can_move_; }
  void restart() {
    clock_.reset();
    kept_links_ = false;
    if (!failure_.ok()) failure_ = Status();
    begin_run();
  }
  // The end of the run that has been bound is that of another one, too, which began for others and must stay until it
  // is told: then nobody else looks at the operation. `held`: this one, where nobody may hold it until then.
  void tell(RunEnd& other, std::shared_ptr<Operation> held = nullptr) {
    told_ = &other;
    self_ = std::move(held);
  }
  // Whether the run that goes on is to be told of so.
  bool tells() const { return told_ != nullptr; }
  // Before a run on device memory, on the thread that calls: what the caller has put into its stream until now comes
  // before it. Where the data is the host's, nothing happens.
  virtual Status mark_streams() { return {}; }

  // ---- for the thread that progresses ----
  // Whether it receives from any rank and does not know yet from which peer; until then it uses no link. take_from()
  // tells it, before start().
  virtual bool needs_source() const { return false; }
  virtual void take_from(Rank peer) { (void)peer; }
  // Before begin(): its buffers are in memory that is copied in and out while it runs. False: it cannot run so, and all
  // must be there when it begins. Null: no longer.
  virtual bool run_on(CopiedMemory* memory) {
    (void)memory;
    return false;
  }
  // Of that memory; advance() then does what waited for it.
  virtual void more_has_arrived() {}
  // Brings the data to where it belongs, then start().
  Status begin(const Tag& tag, Peers& peers) {
    if (binding_.staging && !stage()) return failure_;
    Status status = start(tag, peers);
    bound_anew_ = false;
    return status;
  }
  // In place of being numbered, recorded, begun and advanced until it is complete: all of that, where nobody is waited
  // for. Requires can_move().
  virtual RanNow run_now(Recorder& recorder) {
    (void)recorder;
    return RanNow::nothing;
  }
  // The link to which a run_now() that has ended has handed its message: behind that, and a full fence, the receiver is
  // to be woken. Null: nobody is. Constant once the operation has run.
  Link* link_to_wake() const { return link_to_wake_; }
  // `tag` is tag().
  virtual Status start(const Tag& tag, Peers& peers) = 0;
  // Whether that is all, and links, which keep its order, do the rest; it counts its end (Context::Shared), and
  // advance() does nothing.
  virtual bool is_for_links_alone() const { return false; }
  // Whether it loses nothing by beginning only when those before it in its direction are over.
  virtual bool may_follow() const { return false; }
  // Does what can be done without waiting; adds to `counters`. Returns whether anything happened.
  virtual bool advance(Counters& counters) = 0;
  // Everything is done, or something failed.
  virtual bool complete() const = 0;
  // The directions of links that it uses, and the window, if it runs over one: the later of two operations that have
  // any of these in common waits for the earlier.
  virtual std::span<const Direction> directions() const = 0;
  Window* window() const { return window_; }
  // Whether it may use links, besides a window or without.
  bool uses_links() const { return uses_links_; }
  // Whether `peer`, which has left in good order, had done all its part. Links say so themselves.
  virtual bool can_do_without(Rank peer) const {
    (void)peer;
    return true;
  }
  // Of a run over a window: whether it moves so little that no member takes long.
  virtual bool is_small() const { return false; }
  // Does what advance() put off in the hope that nobody needs it; before every sleep.
  virtual void before_sleep() {}
  // When advance() may find something of which nobody tells this process; asked before every sleep.
  virtual Deadline next_look() const { return Deadline::never(); }
  // Of a run over a window for which advance() has just done nothing: members of whom one must do something before it
  // can do more. All: it may go on already, or depends on anybody.
  virtual MemberSet awaited_members() const { return all_members; }
  // Tells the peers that it waits for, and those that may wait for it, over links: `missing` and `witness` as in
  // Waiting.
  virtual void tell_waiting(Rank missing, Rank witness) {
    (void)missing;
    (void)witness;
  }
  using Missing = hocket::Missing;
  virtual Missing missing() const = 0;
  // The first of them, as a rank of the communicator; no_rank: it cannot tell. Takes no memory.
  virtual Rank awaited() const { return no_rank; }
  // Before it is ended without being complete: takes back what would let peers complete it that have not begun it yet.
  virtual void withdraw() {}
  const Status& failure() const { return failure_; }
  // Ends the run for good with `status` and calls its callback. Requires that no completion is outstanding and that
  // this thread holds no lock: the callback may start calls.
  void finish(const Status& status);
  // The same of a run that has succeeded.
  void finish_well() {
    if (binding_.staging) return finish(Status());
    end_run(Code::ok);
  }
  // Whoever looks at a run that is over does this before dropping the operation: what was seen comes before the next
  // run.
  void let_go() noexcept {
    if (finished()) take_back();
  }
  // The same of one that may not be over: until then it holds itself. So nobody else needs to, and the queue has what
  // follows others by its address alone. Requires allow_callback(), and that it was started.
  static void leave_to_itself(std::shared_ptr<Operation> operation) noexcept;
  // Whether this run has certainly made no link and let none progress, so that what is to be watched
  // (Peers::watch_epoch) is as it was before.
  bool kept_links() const { return kept_links_; }
  void keep_links(bool kept) { kept_links_ = kept; }

  Context& context() const { return *context_; }
  const std::shared_ptr<Context>& shared_context() const { return context_; }
  const Signature& signature() const { return binding_.signature; }
  std::chrono::nanoseconds timeout() const { return binding_.timeout; }
  // The clock is read at the first of these, not when the run begins: most runs are over before anybody asks.
  const Deadline& deadline() const { return clock().deadline; }
  bool has_clock() const { return clock_.has_value(); }
  // Its clock began to run then.
  void begin_clock(Deadline::Clock::time_point began) const;
  // How it names itself to the peers.
  Tag tag() const {
    return {.communicator = context_->number(),
            .sequence = static_cast<std::uint32_t>(sequence_),
            .call = binding_.signature};
  }
  // A send or a receive.
  bool is_message() const { return hocket::is_message(binding_.signature); }
  // Whether it uses links and is none; known once it is bound.
  bool is_collective_over_links() const { return collective_over_links_; }
  // Collectives are numbered when they are called, by any thread; messages when they begin, by the thread that
  // progresses, as only then it is certain which rank sends them.
  void number_collective() { sequence_ = context_->next_collective(); }
  void number_if_collective() {
    if (!is_message()) number_collective();
  }
  void number_if_message() {
    if (is_message()) number_message();
  }
  // Where it is called and begins at once.
  void number() { is_message() ? number_message() : number_collective(); }
  double elapsed_seconds() const;
  // What is recorded of its run from when it begins; before, and where nobody records: null.
  OperationRecord* record() const { return record_; }
  void set_record(OperationRecord* record) { record_ = record; }
  // In place of that: the record of an operation that runs this one.
  void share_record(OperationRecord* record) {
    record_ = record;
    detail_.path = 0;
  }
  const RecordDetail& detail() const { return detail_; }
  // When to tell_waiting() next, and whether that was done before in this run.
  const Deadline& next_telling() const { return clock().next_telling; }
  bool has_told() const { return clock().told; }
  void tell_again_at(Deadline at) {
    clock().next_telling = at;
    clock().told = true;
  }
  // Constant once it has run.
  const TransportNames& transports() const { return manner_.transports(); }
  void set_transports(const TransportNames& transports) { manner_.set_transports(transports); }
  // The algorithm and wire format are the same, too, always.
  void set_manner(const Manner& manner) { manner_ = manner; }
  // ---- for any thread ----
  // Before a run: somebody may ask for its end with on_complete().
  void allow_callback() { may_be_asked_ = true; }
  // How it moved its data, for people: an algorithm of the catalog, or a direct path. Static.
  virtual std::string_view algorithm() const = 0;
  // The format in which its data travelled.
  virtual WireFormat wire() const { return WireFormat::exact; }
  const Manner& manner() const { return manner_; }

 protected:
  const Binding& binding() const { return binding_; }
  // Whether more may differ from the run before than where the buffers are.
  bool is_bound_anew() const { return bound_anew_; }
  // Of a message that is numbered otherwise than by number(), and has been so before.
  void set_number(std::uint64_t sequence) { sequence_ = sequence; }
  void set_link_to_wake(Link& link) { link_to_wake_ = &link; }
  // For this run.
  void set_buffers(const std::byte* input, std::byte* output) {
    binding_.input = input;
    binding_.output = output;
  }
  // Of a direct operation: which it has chosen, counted from 1; 0: none.
  void set_path(std::uint32_t path) {
    if (detail_.path == path) return;
    detail_.path = path;
    manner_.renew();
    if (record_ != nullptr) record_->choose(path);
  }
  // In the signature, before any peer hears of the run.
  void set_root(Rank root) { binding_.signature.root = root; }
  // The first failure stays.
  void fail(const Status& status) {
    if (failure_.ok()) failure_ = status;
  }

 private:
  RunClock& clock() const;
  void number_message();
  bool stage();
  void leave_staging(const Status& status);
  // Of a run with this result; the operation may be gone then.
  void end_run(Code code) {
    if (told_ != nullptr) [[unlikely]]
      return end_for_another(code);
    end(code);
  }
  void end_for_another(Code code);
  void release_itself() noexcept override;

  Window* const window_;
  const bool uses_links_;
  // What even the smallest call touches lies side by side from here on, and in the end of its run.
  bool persistent_ = false, kept_links_ = false;
  bool bound_anew_ = true, can_move_ = false, collective_over_links_ = false;
  const std::shared_ptr<Context> context_;
  RecordDetail detail_;
  OperationRecord* record_ = nullptr;
  Link* link_to_wake_ = nullptr;
  Status failure_;
  Binding binding_;
  mutable std::optional<RunClock> clock_;
  Manner manner_;
  RunEnd* told_ = nullptr;           // of the run that goes on
  std::shared_ptr<Operation> self_;  // only where nobody else has to hold it to its end
};

// Of operations that were started together.
bool all_finished(std::span<const std::shared_ptr<Operation>> operations);
// Whether all of one of these sets are, or one of these runs.
bool any_finished(std::span<const std::span<const std::shared_ptr<Operation>>> sets,
                  std::span<const RunEnd* const> runs);
// Requires that all are finished: the first failure among them.
Status status_of(std::span<const std::shared_ptr<Operation>> operations);

}  // namespace hocket
