// How every transport must move data. A new one joins with a Maker (see Ranks), in transport_suites.hpp.
#pragma once

#include <algorithm>
#include <set>
#include <thread>

#include "tests/conformance/transport_ranks.hpp"
#include "transports/registry.hpp"

namespace hocket::testing_support {

template <class Maker>
class TransportSuite : public ::testing::Test {};

TYPED_TEST_SUITE_P(TransportSuite);

TYPED_TEST_P(TransportSuite, HasTheNameByWhichTheRegistryHasIt) {
  Ranks<TypeParam> ranks(1);
  const auto entry = std::ranges::find(transports(), ranks[0].name(), &TransportEntry::name);
  EXPECT_NE(entry, transports().end()) << ranks[0].name();
}

TYPED_TEST_P(TransportSuite, DeliversEverySizeInOrder) {
  Ranks<TypeParam> ranks(2);
  auto [from, to] = ranks.connect_both(0, 1);
  const std::size_t sizes[] = {
      0, 1, 7, 4095, 4096, 4097, 32767, 32768, 32769, 65535, 65536, 65537, std::size_t{5} << 20, 0, 3};
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

// Sums of numbers of two bytes, where what is added to, or the sum, has four.
template <class Left, class To>
void widening_kernel(std::byte* to, const std::byte* left, const std::byte* right, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    Left a;
    std::uint16_t b;
    std::memcpy(&a, left + i * sizeof a, sizeof a);
    std::memcpy(&b, right + i * sizeof b, sizeof b);
    const auto sum = static_cast<To>(a + b);
    std::memcpy(to + i * sizeof sum, &sum, sizeof sum);
  }
}

template <class TypeParam, class Left, class To>
void expect_wide_sums(Ranks<TypeParam>& ranks, std::uint32_t first_sequence) {
  auto [from, to] = ranks.connect_both(0, 1);
  for (const std::size_t elements : {std::size_t{0}, std::size_t{1}, std::size_t{50'001}, std::size_t{700'003}}) {
    const std::size_t size = 2 * elements;
    const Bytes sent = pattern(size, 5), mine = pattern(elements * sizeof(Left), 6);
    Bytes out(elements * sizeof(To)), expected(out.size());
    widening_kernel<Left, To>(expected.data(), mine.data(), sent.data(), elements);
    const Reduction reduction{.kernel = &widening_kernel<Left, To>,
                              .element_bytes = 2,
                              .mine_width = sizeof(Left) / 2,
                              .to_width = sizeof(To) / 2};
    Outcome send, receive;
    to->recv_reduce(tag(first_sequence), {mine.data(), size}, {out.data(), size}, reduction, receive);
    from->send(tag(first_sequence++), {sent.data(), size}, send);
    ASSERT_TRUE(ranks.until([&] { return send.done() && receive.done(); }));
    EXPECT_TRUE(send.good() && receive.good());
    EXPECT_TRUE(out == expected) << elements << " elements";
  }
}

TYPED_TEST_P(TransportSuite, ReducesIntoWiderElementsAndOutOfThem) {
  Ranks<TypeParam> ranks(2);
  expect_wide_sums<TypeParam, std::uint16_t, std::uint32_t>(ranks, 1);
  expect_wide_sums<TypeParam, std::uint32_t, std::uint32_t>(ranks, 11);
  expect_wide_sums<TypeParam, std::uint32_t, std::uint16_t>(ranks, 21);
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

REGISTER_TYPED_TEST_SUITE_P(TransportSuite, HasTheNameByWhichTheRegistryHasIt, DeliversEverySizeInOrder,
                            LargeMessagesBothWaysAtOnceDoNotDeadlock, ManySmallMessagesBeforeTheirReceives,
                            ReceivePostedLongAfterALargeMessageCame, ReducesOddElementsAtUnalignedPlaces,
                            ReducesIntoWiderElementsAndOutOfThem, AllPairsAtOnce, RanksAsThreadsThatSleep);

}  // namespace hocket::testing_support
