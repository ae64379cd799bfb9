// Some ranks of one transport in one process, progressed round-robin by one thread, so that every run is alike.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "src/spi/transport.hpp"

namespace hocket::testing_support {

inline Deadline soon() {
  return Deadline::after(std::chrono::seconds(60));  // far more than a working transport needs
}

// Counts how often it is done, and with what.
struct Outcome : Completion {
  int times = 0;
  Status status;

  Outcome() {
    on_done = [](Completion& self, const Status& with) {
      auto& outcome = static_cast<Outcome&>(self);
      ++outcome.times;
      outcome.status = with;
    };
  }
  Outcome(const Outcome&) = delete;
  Outcome& operator=(const Outcome&) = delete;
  bool done() const { return times > 0; }
  bool good() const { return times == 1 && status.ok(); }
};

struct Recorder : TransportListener {
  std::vector<std::pair<Rank, Status>> failures;
  std::vector<std::pair<Rank, Status>> last_words;  // on links that this side had closed
  std::vector<std::pair<Rank, Waiting>> waits;
  std::vector<Rank> departures;

  void peer_failed(Rank peer, const Status& why) override { failures.emplace_back(peer, why); }
  void peer_broke(Rank peer, const Status& why) override { last_words.emplace_back(peer, why); }
  void peer_waits(Rank peer, const Waiting& what) override { waits.emplace_back(peer, what); }
  void peer_left(Rank peer) override { departures.push_back(peer); }
};

// `Maker(size)` makes what the ranks share, and make(config) the transport of one rank.
template <class Maker>
class Ranks {
 public:
  explicit Ranks(Rank size, Maker maker, std::uint64_t group = 77) : maker_(std::move(maker)) {
    for (Rank rank = 0; rank < size; ++rank) {
      recorders_.push_back(std::make_unique<Recorder>());
      auto made =
          maker_.make(TransportConfig{.rank = rank, .size = size, .group = group, .listener = recorders_.back().get()});
      EXPECT_TRUE(made.ok()) << made.status().message();
      transports_.push_back(std::move(made).value());
    }
  }
  explicit Ranks(Rank size) : Ranks(size, Maker(size)) {}
  ~Ranks() {
    for (auto& transport : transports_) {
      if (transport) transport->shut_down(Status(Code::aborted, "the test is over"), Deadline::after({}));
    }
  }

  Rank size() const { return static_cast<Rank>(transports_.size()); }
  Transport& operator[](Rank rank) { return *transports_[static_cast<std::size_t>(rank)]; }
  Recorder& seen(Rank rank) { return *recorders_[static_cast<std::size_t>(rank)]; }
  // As if its process had died.
  void kill(Rank rank) { transports_[static_cast<std::size_t>(rank)].reset(); }

  Link& connect(Rank from, Rank to, Deadline deadline = soon()) {
    auto link = (*this)[from].connect(to, (*this)[to].address(), deadline);
    EXPECT_TRUE(link.ok()) << link.status().message();
    return **link;
  }
  // Both ends, up.
  std::pair<Link*, Link*> connect_both(Rank a, Rank b) {
    Link& ab = connect(a, b);
    Link& ba = connect(b, a);
    EXPECT_TRUE(until([&] { return (*this)[a].connected(b) && (*this)[b].connected(a); }));
    return {&ab, &ba};
  }

  std::size_t step() {
    std::size_t happened = 0;
    for (auto& transport : transports_) {
      if (transport) happened += transport->progress();
    }
    return happened;
  }
  // Lets all ranks progress until the condition holds; false: it never did.
  bool until(const std::function<bool()>& condition) {
    for (const Deadline deadline = soon(); !deadline.passed();) {
      if (condition()) return true;
      if (step() == 0) ::poll(nullptr, 0, 0);
    }
    return condition();
  }
  // Lets all that is on its way arrive; longer than a transport goes without a look at its door.
  void settle() {
    for (int quiet = 0; quiet < 5000; ++quiet) {
      if (step() > 0) quiet = 0;
    }
  }

 private:
  Maker maker_;
  std::vector<std::unique_ptr<Recorder>> recorders_;
  std::vector<std::unique_ptr<Transport>> transports_;
};

inline Tag tag(std::uint32_t sequence, std::uint64_t count = 0) {
  return {.communicator = 9,
          .sequence = sequence,
          .call = {.collective = Collective::allreduce, .dtype = DataType::float32, .count = count}};
}

using Bytes = std::vector<std::byte>;

inline Bytes pattern(std::size_t size, unsigned seed) {
  Bytes bytes(size);
  std::uint32_t state = seed * 2654435761u + 1;
  for (std::byte& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

inline Buffer whole(Bytes& bytes) {
  return {bytes.data(), bytes.size()};
}

// That a message arrives whole.
template <class Maker>
void exchange(Ranks<Maker>& ranks, Link& from, Link& to, std::uint32_t number, std::size_t size) {
  Bytes sent = pattern(size, number), received(sent.size());
  Outcome send, receive;
  to.recv(tag(number), whole(received), receive);
  from.send(tag(number), whole(sent), send);
  EXPECT_TRUE(ranks.until([&] { return send.done() && receive.done(); }));
  EXPECT_TRUE(send.good() && receive.good());
  EXPECT_EQ(sent, received);
}

// That ranks 0 and 1 still do their work.
template <class Maker>
void expect_unharmed(Ranks<Maker>& ranks) {
  auto [from, to] = ranks.connect_both(0, 1);
  exchange(ranks, *from, *to, 1, 700'000);
  EXPECT_TRUE(ranks.seen(0).failures.empty());
  EXPECT_TRUE(ranks.seen(1).failures.empty());
}

// Whether a wait on these descriptors would end at once.
inline bool something_ready(std::vector<pollfd> interests, int timeout_ms = 0) {
  return ::poll(interests.data(), interests.size(), timeout_ms) > 0;
}

// Into what lies between two ranks, several connections' buffers included.
inline constexpr std::size_t more_than_fits = std::size_t{32} << 20;

}  // namespace hocket::testing_support
