// Operations and connections that do what a test tells them, for the parts of the executor.
#pragma once

#include <sys/eventfd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "src/base/fd.hpp"
#include "src/base/wake_event.hpp"
#include "src/exec/operation.hpp"
#include "src/exec/peers.hpp"

namespace hocket::testing_support {

// Uses these directions, and completes when it is told to.
class FakeOperation final : public Operation {
 public:
  explicit FakeOperation(std::vector<Direction> directions, const Binding& binding = ordinary(),
                         std::shared_ptr<Context> context = std::make_shared<Context>())
      : Operation(std::move(context)), directions_(std::move(directions)) {
    bind(binding);
  }
  static Binding ordinary() {
    return {.signature = {.collective = Collective::allreduce}, .reduction = {}, .timeout = std::chrono::hours(1)};
  }

  Status start(const Tag&, Peers&) override {
    if (on_start) on_start();
    started = true;
    return {};
  }
  bool advance(Counters&) override {
    if (on_advance) on_advance();
    return may_complete && !std::exchange(complete_, true);
  }
  bool complete() const override { return complete_ || !failure().ok(); }
  std::span<const Direction> directions() const override { return directions_; }
  Missing missing() const override { return {.peers = {1}, .text = "waiting for rank 1"}; }
  std::string_view algorithm() const override { return "fake"; }
  bool is_for_links_alone() const override { return for_links_alone; }
  bool may_follow() const override { return follows; }
  bool is_small() const override { return small; }
  bool needs_source() const override {
    if (looked_at != nullptr) ++*looked_at;
    return searches;
  }
  void take_from(Rank peer) override {
    searches = false;
    source = peer;
  }

  std::atomic<bool> may_complete{false}, started{false};
  std::function<void()> on_start, on_advance;
  bool searches = false;  // it receives from any
  bool for_links_alone = false;
  bool follows = false;  // others of its direction, before it begins
  bool small = false;
  Rank source = no_rank;
  std::size_t* looked_at = nullptr;  // counts how often

 private:
  const std::vector<Direction> directions_;
  bool complete_ = false;
};

// One over a window, which never ends by itself.
class OverWindow final : public Operation {
 public:
  explicit OverWindow(Window& window, bool small = false)
      : Operation(std::make_shared<Context>(), &window), small_(small) {
    bind(FakeOperation::ordinary());
  }
  Status start(const Tag&, Peers&) override { return {}; }
  bool advance(Counters&) override { return false; }
  bool complete() const override { return false; }
  std::span<const Direction> directions() const override { return {}; }
  Missing missing() const override { return {}; }
  std::string_view algorithm() const override { return "fake"; }
  bool is_small() const override { return small_; }

 private:
  const bool small_;
};

// A link over which nothing comes.
class FakeLink : public Link {
 public:
  void send(const Tag&, ConstBuffer, Completion&) override {}
  void recv(const Tag&, Buffer, Completion&) override {}
  void recv_reduce(const Tag&, ConstBuffer, Buffer, const Reduction&, Completion&) override {}
  std::optional<Tag> probe() override { return std::nullopt; }
  void close(const Status&) override {}
};

// One that is connected for as long as a test says.
struct SpeakingLink final : FakeLink {
  bool may_speak() const override { return speaks; }
  bool speaks = true;
};

class FakePeers : public Peers {
 public:
  explicit FakePeers(Rank size = 2) : size_(size), tags(static_cast<std::size_t>(size)) {}

  Result<Link*> link(Rank, Deadline) override { return Status(Code::internal, "a fake operation needs no link"); }
  Rank size() const override { return size_; }
  void listen(bool on) override { listens = on; }
  std::optional<Tag> probe(Rank peer) override { return tags[static_cast<std::size_t>(peer)]; }
  std::size_t progress() override {
    ++looks;
    clear_event(event_);
    if (on_progress) on_progress();
    return 0;
  }
  bool arm(std::vector<pollfd>& interests) override {
    interests.push_back({.fd = event_.get(), .events = POLLIN, .revents = 0});
    return true;
  }
  void disarm() override {}
  void watch(std::vector<pollfd>& interests) override {
    if (on_watch) on_watch();
    interests.push_back({.fd = event_.get(), .events = POLLIN, .revents = 0});
  }
  std::optional<Deadline> next_deadline() const override { return std::nullopt; }
  std::uint64_t watch_epoch() const override { return epoch; }
  void close(const Status& why) override {
    ++closings;
    if (on_close) on_close();
    closed_with = why;
  }
  // Something happens at the links.
  void ring() { set_event(event_); }

 private:
  const Rank size_;
  const UniqueFd event_{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};

 public:
  std::atomic<int> looks{0};
  std::atomic<std::uint64_t> epoch{0};
  std::function<void()> on_progress, on_watch, on_close;
  std::vector<std::optional<Tag>> tags;  // of the message that has come from each peer
  bool listens = false;
  int closings = 0;
  Status closed_with;
};

}  // namespace hocket::testing_support
