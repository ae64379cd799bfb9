// What every transport must do. A newcomer joins with a Maker (see Ranks) and one INSTANTIATE_TYPED_TEST_SUITE_P.
#pragma once

#include <algorithm>
#include <set>
#include <thread>

#include "tests/conformance/transport_ranks.hpp"

namespace hocket::testing {

template <class Maker>
class TransportSuite : public ::testing::Test {};

TYPED_TEST_SUITE_P(TransportSuite);

// ---- moving data
// -----------------------------------------------------------------------------------------------------

TYPED_TEST_P(TransportSuite, DeliversEverySizeInOrder) {
  Ranks<TypeParam> ranks(2);
  auto [from, to] = ranks.connect_both(0, 1);
  const std::size_t sizes[] = {0, 1, 7, 4095, 4096, 4097, 65535, 65536, 65537, std::size_t{5} << 20, 0, 3};
  std::vector<Bytes> sent, received;
  std::vector<Outcome> sends(std::size(sizes)), receives(std::size(sizes));
  for (std::size_t i = 0; i < std::size(sizes); ++i) {
    sent.push_back(pattern(sizes[i], static_cast<unsigned>(i)));
    received.emplace_back(sizes[i]);
  }
  for (std::size_t i = 0; i < std::size(sizes); ++i) {
    from->send(tag(static_cast<std::uint32_t>(i)), whole(sent[i]), sends[i]);
    to->recv(tag(static_cast<std::uint32_t>(i)), whole(received[i]), receives[i]);
  }
  const auto done = [](const Outcome& outcome) { return outcome.done(); };
  EXPECT_TRUE(ranks.until([&] {
    return std::all_of(sends.begin(), sends.end(), done) && std::all_of(receives.begin(), receives.end(), done);
  }));
  for (std::size_t i = 0; i < std::size(sizes); ++i) {
    EXPECT_TRUE(sends[i].good() && receives[i].good()) << "message " << i;
    EXPECT_EQ(sent[i], received[i]) << "message " << i;
  }
}

TYPED_TEST_P(TransportSuite, LargeMessagesBothWaysAtOnceDoNotDeadlock) {
  Ranks<TypeParam> ranks(2);
  auto [a, b] = ranks.connect_both(0, 1);
  constexpr std::size_t size = std::size_t{9} << 20;
  Bytes mine = pattern(size, 1), theirs = pattern(size, 2), got_a(size), got_b(size);
  Outcome done[4];
  a->send(tag(1), whole(mine), done[0]);
  b->send(tag(1), whole(theirs), done[1]);
  a->recv(tag(1), whole(got_a), done[2]);
  b->recv(tag(1), whole(got_b), done[3]);
  EXPECT_TRUE(ranks.until([&] { return done[0].done() && done[1].done() && done[2].done() && done[3].done(); }));
  for (const Outcome& outcome : done) EXPECT_TRUE(outcome.good());
  EXPECT_EQ(got_a, theirs);
  EXPECT_EQ(got_b, mine);
}

TYPED_TEST_P(TransportSuite, ManySmallMessagesBeforeTheirReceives) {
  Ranks<TypeParam> ranks(2);
  auto [from, to] = ranks.connect_both(0, 1);
  constexpr std::uint32_t messages = 5000;
  Bytes sent = pattern(messages * 12, 3), received(sent.size());
  std::vector<Outcome> sends(messages), receives(messages);
  for (std::uint32_t i = 0; i < messages; ++i) from->send(tag(i), whole(sent).part(i * 12, 12), sends[i]);
  ranks.settle();
  for (std::uint32_t i = 0; i < messages; ++i) to->recv(tag(i), whole(received).part(i * 12, 12), receives[i]);
  EXPECT_TRUE(ranks.until([&] { return receives.back().done() && sends.back().done(); }));
  for (std::uint32_t i = 0; i < messages; ++i) ASSERT_TRUE(sends[i].good() && receives[i].good()) << i;
  EXPECT_EQ(sent, received);
}

TYPED_TEST_P(TransportSuite, ReceivePostedLongAfterALargeMessageCame) {
  Ranks<TypeParam> ranks(2);
  auto [from, to] = ranks.connect_both(1, 0);
  Bytes sent = pattern(std::size_t{3} << 20, 4), received(sent.size());
  Outcome send, receive;
  from->send(tag(1), whole(sent), send);
  ranks.settle();
  to->recv(tag(1), whole(received), receive);
  EXPECT_TRUE(ranks.until([&] { return send.done() && receive.done(); }));
  EXPECT_TRUE(send.good() && receive.good());
  EXPECT_EQ(sent, received);
}

// Elements of three bytes, combined so that the order of operands shows: to = left + 2 * right, byte by byte.
inline void odd_kernel(std::byte* to, const std::byte* left, const std::byte* right, std::size_t count) {
  for (std::size_t i = 0; i < 3 * count; ++i) {
    to[i] = static_cast<std::byte>(std::to_integer<unsigned>(left[i]) + 2 * std::to_integer<unsigned>(right[i]));
  }
}

TYPED_TEST_P(TransportSuite, ReducesOddElementsAtUnalignedPlaces) {
  Ranks<TypeParam> ranks(2);
  auto [from, to] = ranks.connect_both(0, 1);
  std::uint32_t sequence = 0;
  for (const std::size_t elements :
       {std::size_t{0}, std::size_t{1}, std::size_t{5}, std::size_t{50'001}, std::size_t{1'000'003}}) {
    for (const bool swapped : {false, true}) {
      for (const bool in_place : {false, true}) {
        const std::size_t size = 3 * elements;
        Bytes sent = pattern(size + 1, 5), mine = pattern(size + 1, 6), out(size + 1), expected(size);
        const std::byte* const left = swapped ? sent.data() + 1 : mine.data() + 1;
        const std::byte* const right = swapped ? mine.data() + 1 : sent.data() + 1;
        odd_kernel(expected.data(), left, right, elements);
        const Buffer target = (in_place ? whole(mine) : whole(out)).part(1, size);
        Outcome send, receive;
        ++sequence;
        const Reduction reduction{.kernel = &odd_kernel, .element_bytes = 3, .swapped = swapped};
        to->recv_reduce(tag(sequence), whole(mine).part(1, size), target, reduction, receive);
        from->send(tag(sequence), whole(sent).part(1, size), send);
        ASSERT_TRUE(ranks.until([&] { return send.done() && receive.done(); }));
        EXPECT_TRUE(send.good() && receive.good());
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), target.data)) << elements << swapped << in_place;
      }
    }
  }
}

TYPED_TEST_P(TransportSuite, AllPairsAtOnce) {
  constexpr Rank size = 5;
  Ranks<TypeParam> ranks(size);
  struct Exchange {
    Bytes out, in;
    Outcome send, receive;
  };
  std::vector<Exchange> exchanges(size * size);
  for (Rank a = 0; a < size; ++a) {
    for (Rank b = 0; b < size; ++b) {
      if (a == b) continue;
      Exchange& exchange = exchanges[static_cast<std::size_t>(a * size + b)];
      exchange.out = pattern(100'000, static_cast<unsigned>(a * size + b));
      exchange.in.resize(100'000);
      Link& link = ranks.connect(a, b);
      link.send(tag(1), whole(exchange.out), exchange.send);
      link.recv(tag(1), whole(exchange.in), exchange.receive);
    }
  }
  EXPECT_TRUE(ranks.until([&] {
    return std::all_of(exchanges.begin(), exchanges.end(), [](const Exchange& exchange) {
      return exchange.out.empty() || (exchange.send.done() && exchange.receive.done());
    });
  }));
  for (Rank a = 0; a < size; ++a) {
    for (Rank b = 0; b < size; ++b) {
      if (a == b) continue;
      const Exchange& here = exchanges[static_cast<std::size_t>(a * size + b)];
      EXPECT_TRUE(here.send.good() && here.receive.good()) << a << " " << b;
      EXPECT_EQ(here.out, exchanges[static_cast<std::size_t>(b * size + a)].in) << a << " " << b;
    }
  }
}

TYPED_TEST_P(TransportSuite, RanksAsThreadsThatSleep) {
  constexpr Rank size = 3;
  constexpr std::uint32_t rounds = 300;
  Ranks<TypeParam> ranks(size);
  std::vector<std::thread> threads;
  std::vector<std::uint32_t> good(size);
  for (Rank rank = 0; rank < size; ++rank) {
    threads.emplace_back([&ranks, &good, rank] {
      Transport& transport = ranks[rank];
      Link& next = ranks.connect(rank, (rank + 1) % size);
      Link& previous = ranks.connect(rank, (rank + size - 1) % size);
      for (std::uint32_t round = 0; round < rounds; ++round) {
        Bytes out = pattern(round * 100, round), in(out.size());
        Outcome send, receive;
        next.send(tag(round), whole(out), send);
        previous.recv(tag(round), whole(in), receive);
        for (const Deadline deadline = soon(); !(send.done() && receive.done()) && !deadline.passed();) {
          if (transport.progress() > 0) continue;
          std::vector<pollfd> interests;
          if (!transport.arm(interests)) continue;
          const auto next_deadline = transport.next_deadline();
          ::poll(interests.data(), interests.size(),
                 earlier(deadline, next_deadline.value_or(deadline)).remaining_ms());
          transport.disarm();
        }
        if (!send.good() || !receive.good() || in != out) return;
        ++good[static_cast<std::size_t>(rank)];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(good, ::testing::Each(rounds));
}

// ---- connecting
// ------------------------------------------------------------------------------------------------------

TYPED_TEST_P(TransportSuite, ConnectsOnceAndOnlyToRanksThatExist) {
  Ranks<TypeParam> ranks(2);
  EXPECT_TRUE(ranks[0].reaches(ranks[1].address()));
  EXPECT_LE(ranks[0].address().size(), 512u);
  EXPECT_FALSE(ranks[0].reaches("nonsense"));
  Link& link = ranks.connect(0, 1);
  EXPECT_EQ(&link, &ranks.connect(0, 1));
  EXPECT_FALSE(ranks[0].connected(1));
  for (const Rank wrong : {-1, 0, 2}) {
    auto refused = ranks[0].connect(wrong, ranks[1].address(), soon());
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.status().code(), Code::invalid_argument);
    EXPECT_FALSE(ranks[0].connected(wrong));
  }
  EXPECT_EQ(ranks[1].connect(0, "nonsense", soon()).status().code(), Code::invalid_argument);
}

// Whoever begins, and however their steps fall, both sides call and one link comes of it.
TYPED_TEST_P(TransportSuite, SimultaneousConnectsSettleOnOneLink) {
  for (unsigned round = 0; round < 100; ++round) {
    Ranks<TypeParam> ranks(3);
    const Rank first = static_cast<Rank>(round % 2);
    Link& one = ranks.connect(first, 1 - first);
    for (unsigned steps = 0; steps < (round / 2) % 5; ++steps) ranks[first].progress();
    Link& other = ranks.connect(1 - first, first);
    for (unsigned steps = 0; steps < (round / 10) % 5; ++steps) ranks[1 - first].progress();
    Bytes to_other = pattern(70'000, round), to_one = pattern(70'000, round + 1), at_one(70'000), at_other(70'000);
    Outcome outcomes[4];
    one.recv(tag(1), whole(at_one), outcomes[0]);
    other.recv(tag(1), whole(at_other), outcomes[1]);
    one.send(tag(1), whole(to_other), outcomes[2]);
    other.send(tag(1), whole(to_one), outcomes[3]);
    ASSERT_TRUE(ranks.until([&] { return std::ranges::all_of(outcomes, &Outcome::good); })) << round;
    ASSERT_EQ(at_one, to_one);
    ASSERT_EQ(at_other, to_other);
    EXPECT_EQ(&one, &ranks.connect(first, 1 - first));
    for (const Rank rank : {0, 1}) EXPECT_TRUE(ranks.seen(rank).failures.empty()) << round;
  }
}

TYPED_TEST_P(TransportSuite, WhatIsSentBeforeThePeerConnectsArrives) {
  for (const Rank first : {0, 1}) {
    Ranks<TypeParam> ranks(2);
    Bytes sent = pattern(200'000, 7), received(sent.size());
    Outcome send, receive;
    ranks.connect(first, 1 - first).send(tag(1), whole(sent), send);
    ranks.settle();
    EXPECT_FALSE(receive.done());
    ranks.connect(1 - first, first).recv(tag(1), whole(received), receive);
    EXPECT_TRUE(ranks.until([&] { return send.done() && receive.done(); }));
    EXPECT_EQ(sent, received);
  }
}

TYPED_TEST_P(TransportSuite, GivesUpOnAPeerThatNeverConnects) {
  Ranks<TypeParam> ranks(2);
  // The lower rank waits for the higher one to come; nobody progresses that one.
  Link& link = ranks.connect(0, 1, Deadline::after(std::chrono::milliseconds(20)));
  Bytes bytes(100'000);
  Outcome send, receive;
  link.send(tag(1), whole(bytes), send);
  link.recv(tag(1), whole(bytes), receive);
  ASSERT_TRUE(ranks[0].next_deadline().has_value());
  for (const Deadline deadline = soon(); ranks.seen(0).failures.empty() && !deadline.passed();) {
    ranks[0].progress();
    std::vector<pollfd> interests;
    if (!ranks[0].arm(interests)) continue;
    const auto next = ranks[0].next_deadline();
    ::poll(interests.data(), interests.size(), next.value_or(Deadline::after({})).remaining_ms());
    ranks[0].disarm();
  }
  ASSERT_EQ(ranks.seen(0).failures.size(), 1u);
  EXPECT_EQ(ranks.seen(0).failures[0].first, 1);
  EXPECT_EQ(ranks.seen(0).failures[0].second.code(), Code::timeout);
  EXPECT_THAT(ranks.seen(0).failures[0].second.message(), ::testing::HasSubstr("rank 1"));
  EXPECT_EQ(receive.times, 1);
  EXPECT_EQ(receive.status.code(), Code::timeout);
  EXPECT_EQ(send.times, 1);
  EXPECT_EQ(send.status.code(), Code::timeout);
  EXPECT_FALSE(ranks[0].next_deadline().has_value());
}

TYPED_TEST_P(TransportSuite, ConnectingToTheDeadSaysSo) {
  Ranks<TypeParam> ranks(2);
  const Address address = ranks[0].address();
  ranks.kill(0);
  auto link = ranks[1].connect(0, address, soon());
  ASSERT_TRUE(link.ok());
  Bytes bytes(8);
  Outcome receive;
  (*link)->recv(tag(1), whole(bytes), receive);
  EXPECT_TRUE(ranks.until([&] { return receive.done(); }));
  EXPECT_EQ(receive.status.code(), Code::peer_lost);
  ASSERT_EQ(ranks.seen(1).failures.size(), 1u);
  EXPECT_EQ(ranks.seen(1).failures[0].second.cause().peer, 0);
}

// ---- waiting
// ---------------------------------------------------------------------------------------------------------

TYPED_TEST_P(TransportSuite, ArmedWaitEndsWhenDataCome) {
  Ranks<TypeParam> ranks(2);
  auto [from, to] = ranks.connect_both(0, 1);
  ranks.settle();
  Bytes sent = pattern(50, 8), received(50);
  Outcome send, receive;
  to->recv(tag(1), whole(received), receive);
  ranks.settle();
  std::vector<pollfd> interests;
  ASSERT_TRUE(ranks[1].arm(interests));
  EXPECT_FALSE(something_ready(interests));
  from->send(tag(1), whole(sent), send);
  ranks[0].progress();
  EXPECT_TRUE(something_ready(interests, soon().remaining_ms()));
  ranks[1].disarm();
  EXPECT_TRUE(ranks.until([&] { return receive.done(); }));
  EXPECT_EQ(sent, received);
}

TYPED_TEST_P(TransportSuite, DoesNotSleepOnWhatIsHereAlready) {
  Bytes sent = pattern(50, 8), received(50);
  Outcome send, receive;  // before the ranks, so that they outlive what is pending at the end
  Ranks<TypeParam> ranks(2);
  auto [from, to] = ranks.connect_both(0, 1);
  from->send(tag(1), whole(sent), send);
  ranks.settle();
  to->recv(tag(1), whole(received), receive);
  std::vector<pollfd> interests;
  const bool armed = ranks[1].arm(interests);
  EXPECT_TRUE(!armed || something_ready(interests));
  if (armed) ranks[1].disarm();
}

TYPED_TEST_P(TransportSuite, EarlyDataDoNotKeepASleeperAwake) {
  Bytes sent = pattern(100'000, 8);
  Outcome send;
  Ranks<TypeParam> ranks(2);
  auto [from, to] = ranks.connect_both(0, 1);
  from->send(tag(1), whole(sent), send);
  ranks.settle();
  std::vector<pollfd> interests;
  ASSERT_TRUE(ranks[1].arm(interests));
  EXPECT_FALSE(something_ready(interests));
  ranks[1].disarm();
  to->close(Status());
}

TYPED_TEST_P(TransportSuite, AWatcherHearsOfDeathButNotOfData) {
  Ranks<TypeParam> ranks(2);
  auto [from, to] = ranks.connect_both(0, 1);
  ranks.settle();
  Bytes sent = pattern(100, 8);
  Outcome send;
  from->send(tag(1), whole(sent), send);
  std::vector<pollfd> interests;
  ranks[1].watch(interests);
  EXPECT_FALSE(something_ready(interests));
  ranks.kill(0);
  EXPECT_TRUE(something_ready(interests, soon().remaining_ms()));
  EXPECT_TRUE(ranks.until([&] { return !ranks.seen(1).failures.empty(); }));
  ranks.settle();
  interests.clear();
  ranks[1].watch(interests);
  EXPECT_FALSE(something_ready(interests));  // or watching would spin
  Outcome receive;
  to->recv(tag(1), whole(sent), receive);
  EXPECT_EQ(receive.status.code(), Code::peer_lost);
}

// Whoever watches an older list must learn that it is not the whole one any more: else a death goes unnoticed.
TYPED_TEST_P(TransportSuite, TheEpochGrowsWithWhatIsToBeWatched) {
  Ranks<TypeParam> ranks(3);
  struct Seen {
    std::set<int> watched;
    std::uint64_t epoch;
  };
  const auto look = [&](Rank rank) {
    std::vector<pollfd> interests;
    const std::uint64_t epoch = ranks[rank].watch_epoch();
    ranks[rank].watch(interests);
    Seen seen{{}, epoch};
    for (const pollfd& one : interests) {
      if (one.fd >= 0) seen.watched.insert(one.fd);
    }
    return seen;
  };
  std::vector<Seen> before{look(0), look(1), look(2)};
  const auto check = [&] {
    for (Rank rank = 0; rank < 3; ++rank) {
      Seen& known = before[static_cast<std::size_t>(rank)];
      Seen now = look(rank);
      const bool covered =
          std::includes(known.watched.begin(), known.watched.end(), now.watched.begin(), now.watched.end());
      EXPECT_TRUE(covered || now.epoch > known.epoch) << "rank " << rank;
      if (now.epoch > known.epoch) known = std::move(now);
    }
  };
  for (const auto& [a, b] : {std::pair(0, 1), std::pair(1, 0), std::pair(2, 0), std::pair(0, 2)}) {
    ranks.connect(a, b);
    check();
  }
  EXPECT_TRUE(ranks.until([&] {
    check();
    return ranks[0].connected(1) && ranks[1].connected(0) && ranks[0].connected(2) && ranks[2].connected(0);
  }));
  check();
}

REGISTER_TYPED_TEST_SUITE_P(TransportSuite, DeliversEverySizeInOrder, LargeMessagesBothWaysAtOnceDoNotDeadlock,
                            ManySmallMessagesBeforeTheirReceives, ReceivePostedLongAfterALargeMessageCame,
                            ReducesOddElementsAtUnalignedPlaces, AllPairsAtOnce, RanksAsThreadsThatSleep,
                            ConnectsOnceAndOnlyToRanksThatExist, SimultaneousConnectsSettleOnOneLink,
                            WhatIsSentBeforeThePeerConnectsArrives, GivesUpOnAPeerThatNeverConnects,
                            ConnectingToTheDeadSaysSo, ArmedWaitEndsWhenDataCome, DoesNotSleepOnWhatIsHereAlready,
                            EarlyDataDoNotKeepASleeperAwake, AWatcherHearsOfDeathButNotOfData,
                            TheEpochGrowsWithWhatIsToBeWatched);

}  // namespace hocket::testing
