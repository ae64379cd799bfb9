// Both ends of a ring in one process.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <span>

#include "tests/conformance/transport_ranks.hpp"
#include "transports/shm/inbox.hpp"
#include "transports/shm/outbox.hpp"

namespace hocket::shm {

class ShmRingEnds : public ::testing::Test {
 protected:
  static constexpr int nobody = -1;  // sleeps

  void SetUp() override {
    const auto memory = outbox_.ring().create();
    ASSERT_TRUE(memory.ok());
    ASSERT_TRUE(inbox_.ring().open(memory->get()).ok());
  }
  // What that has taken of the ring; 0: it was not written.
  std::uint64_t write(const Tag& tag, std::span<const std::byte> data) {
    const std::uint64_t before = outbox_.ring().written();
    return outbox_.write_at_once(tag, data) ? outbox_.ring().written() - before : 0;
  }
  bool comes(const Tag& tag, const testing_support::Bytes& data) {
    testing_support::Bytes got(data.size());
    return inbox_.take_at_once(tag, got, nobody) && got == data;
  }

  Outbox outbox_;
  LongReceives long_receives_ = 0;
  Inbox inbox_{1, nullptr, long_receives_, true};
};

}  // namespace hocket::shm
