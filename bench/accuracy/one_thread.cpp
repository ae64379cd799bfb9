#include "bench/accuracy/one_thread.hpp"

#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>

#include "src/exec/peers.hpp"
#include "src/exec/schedule_operation.hpp"

namespace hocket::accuracy {
namespace {

// What goes from one rank to another. A message is handed over when both its ends have come.
class Lane {
 public:
  struct Sent {
    ConstBuffer from;
    Completion* completion;
  };
  struct Wanted {
    const std::byte* mine;
    Buffer to;
    Reduction reduction;
    Completion* completion;
  };

  void add(const Sent& sent) {
    sent_.push_back(sent);
    hand_over();
  }
  void add(const Wanted& wanted) {
    wanted_.push_back(wanted);
    hand_over();
  }

 private:
  void hand_over() {
    while (!sent_.empty() && !wanted_.empty()) {
      const auto [from, sender] = sent_.front();
      const auto [mine, to, reduction, receiver] = wanted_.front();
      sent_.pop_front();
      wanted_.pop_front();
      Status status;
      if (from.bytes != to.bytes) {
        status = Status(Code::mismatch, "a message has another size than its receive");
      } else if (reduction.combines()) {
        reduction.combine_part(to.data, mine, 0, from.data, from.bytes);
      } else if (from.bytes != 0) {
        std::memcpy(to.data, from.data, from.bytes);
      }
      sender->done(status);
      receiver->done(status);
    }
  }

  std::deque<Sent> sent_;
  std::deque<Wanted> wanted_;
};

// One rank's end of the lanes to and from a peer.
class LaneLink final : public Link {
 public:
  LaneLink(Lane& out, Lane& in) : out_(out), in_(in) {}

  void send(const Tag&, ConstBuffer from, Completion& completion) override { out_.add(Lane::Sent{from, &completion}); }
  void recv(const Tag&, Buffer to, Completion& completion) override {
    in_.add(Lane::Wanted{nullptr, to, {}, &completion});
  }
  void recv_reduce(const Tag&, ConstBuffer mine, Buffer to, const Reduction& reduction,
                   Completion& completion) override {
    in_.add(Lane::Wanted{mine.data, to, reduction, &completion});
  }
  std::optional<Tag> probe() override { return std::nullopt; }
  void close(const Status&) override {}

 private:
  Lane& out_;
  Lane& in_;
};

class LanePeers final : public Peers {
 public:
  void add(Lane& out, Lane& in) { links_.emplace_back(out, in); }

  Result<Link*> link(Rank peer, Deadline) override { return &links_[static_cast<std::size_t>(peer)]; }
  Rank size() const override { return static_cast<Rank>(links_.size()); }
  void listen(bool) override {}
  std::optional<Tag> probe(Rank) override { return std::nullopt; }
  std::size_t progress() override { return 0; }
  bool arm(std::vector<pollfd>&) override { return true; }
  void disarm() override {}
  void watch(std::vector<pollfd>&) override {}
  std::optional<Deadline> next_deadline() const override { return std::nullopt; }
  std::uint64_t watch_epoch() const override { return 0; }
  void close(const Status&) override {}

 private:
  std::deque<LaneLink> links_;  // by peer
};

std::deque<LanePeers> peers_over(std::vector<Lane>& lanes, std::size_t size) {
  std::deque<LanePeers> all(size);
  for (std::size_t rank = 0; rank < size; ++rank) {
    for (std::size_t peer = 0; peer < size; ++peer) all[rank].add(lanes[rank * size + peer], lanes[peer * size + rank]);
  }
  return all;
}

using Operations = std::vector<std::unique_ptr<ScheduleOperation>>;

Status advance_all(const Operations& operations) {
  Counters counters;
  for (bool happened = true; happened;) {
    happened = false;
    for (const auto& operation : operations) {
      if (!operation->failure().ok()) return operation->failure();
      happened = operation->advance(counters) || happened;
    }
  }
  for (const auto& operation : operations) {
    if (!operation->complete()) return Status(Code::internal, "ranks wait for each other");
  }
  return {};
}

}  // namespace

Status run_all_ranks(PlanKey key, const Reduction& reduction, const std::vector<Bytes>& inputs,
                     std::vector<Bytes>& outputs) {
  const std::size_t size = inputs.size();
  key.size = static_cast<Rank>(size);
  std::vector<Lane> lanes(size * size);
  std::deque<LanePeers> peers = peers_over(lanes, size);
  Operations operations;
  for (std::size_t rank = 0; rank < size; ++rank) {
    key.rank = static_cast<Rank>(rank);
    operations.push_back(std::make_unique<ScheduleOperation>(make_plan(key), std::make_shared<Context>()));
    operations.back()->bind({.input = inputs[rank].data(),
                             .output = outputs[rank].data(),
                             .signature = {.collective = key.algorithm->collective, .count = key.count},
                             .reduction = reduction,
                             .timeout = std::chrono::hours(1)});
    if (Status status = operations.back()->start({}, peers[rank]); !status.ok()) return status;
  }
  Status status = advance_all(operations);
  for (const auto& operation : operations) operation->finish(status);
  return status;
}

}  // namespace hocket::accuracy
