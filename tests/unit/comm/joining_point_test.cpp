#include "src/comm/joining_point.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "src/store/memory_store.hpp"
#include "tests/conformance/watched_store.hpp"

namespace hocket::comm {
namespace {

using std::chrono_literals::operator""ms;

// As a Redis server that loads its data: it is reached at once, and refuses.
class RefusingStore final : public WatchedStore {
 public:
  RefusingStore(Store& behind, int& refusals) : WatchedStore(behind, [] {}), refusals_(refusals) {}
  Result<std::optional<std::string>> compare_and_set(std::string_view, std::optional<std::string_view>,
                                                     std::string_view, Deadline) override {
    ++refusals_;
    return Status(Code::store_unreachable, "it still loads its data");
  }
  Status reconnect(Deadline, const std::stop_token&) override { return {}; }

 private:
  int& refusals_;
};

TEST(JoiningPoint, PausesBeforeItAsksAServerAgainThatRefuses) {
  MemoryStore behind;
  int refusals = 0;
  const auto point = JoiningPoint::in(std::make_unique<RefusingStore>(behind, refusals), {});
  EXPECT_EQ(point->decide(1, true, Deadline::after(200ms), {}).status().code(), Code::store_unreachable);
  EXPECT_GE(refusals, 1);
  EXPECT_LE(refusals, 11) << "20 ms between any two of them";
}

}  // namespace
}  // namespace hocket::comm
