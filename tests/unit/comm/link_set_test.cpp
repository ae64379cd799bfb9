#include "src/comm/link_set.hpp"

#include <gtest/gtest.h>

#include "src/comm/local.hpp"

namespace hocket::comm {
namespace {

// Whether this call or the watcher hears of it first.
TEST(LinkSet, WhoLooksAtTheLinksDoesNotKeepWhatItHearsToItself) {
  for (int round = 0; round < 20; ++round) {
    const auto all = make_local({.size = 2});
    ASSERT_TRUE(all.ok()) << all.status().message();
    LinkSet &one = *all->at(0).link_set, &other = *all->at(1).link_set;
    other.abort(*all->at(1).context, "the test says so");
    const auto deadline = Deadline::after(std::chrono::seconds(20));
    while (one.executor().broken().ok() && !deadline.passed()) one.look_at_links();
    const Status broken = one.executor().broken();
    ASSERT_EQ(broken.code(), Code::aborted);
    EXPECT_EQ(broken.cause().rank, 1);
  }
}

}  // namespace
}  // namespace hocket::comm
