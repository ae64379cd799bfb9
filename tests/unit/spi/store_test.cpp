// What the interface does for stores that have only the simple functions.
#include "src/spi/store.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "src/store/file_store.hpp"
#include "tests/conformance/watched_store.hpp"
#include "tests/process/program.hpp"

namespace hocket {
namespace {

constexpr Rank store_members = 200;
constexpr std::chrono::milliseconds request_takes{2};  // so that all of them take longer than one look around

Status goes_on() {
  return {};
}

// A store each of whose requests takes a while, and in which all members but the first have come.
class SlowStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    for (Rank member = 1; member < store_members; ++member) come(member, "early");
  }
  void come(Rank member, const std::string& value) {
    ASSERT_TRUE(file_->set("m/" + std::to_string(member), value, deadline_).ok());
  }
  Result<Allgathered> meet(const LookAround& look_around, const Store::Sound& sound) {
    const Allgather zero{.prefix = "m/",
                         .member = 0,
                         .members = store_members,
                         .value = "zero",
                         .outcome = "outcome",
                         .complete = "all there",
                         .wanted = {}};
    return slow_.allgather(zero, deadline_, look_around, sound);
  }

  const TemporaryFolder folder_;
  const Deadline deadline_ = Deadline::after(std::chrono::seconds(30));
  const std::unique_ptr<FileStore> file_ = FileStore::open(folder_.file("store"), deadline_).value();
  WatchedStore slow_{*file_, [] { std::this_thread::sleep_for(request_takes); }};
};

TEST_F(SlowStoreTest, AnAllgatherCompletesThatTakesLongerThanALookAround) {
  int looks = 0;
  const auto look_around = [&] { return ++looks < 20 ? Status() : Status(Code::aborted, "it comes to no end"); };
  const auto met = meet(look_around, {});
  ASSERT_TRUE(met.ok()) << met.status().message();
  EXPECT_EQ(met->outcome, "all there");
  EXPECT_GT(looks, 0);
}

TEST_F(SlowStoreTest, AnAllgatherReadsAgainWhatWasNotSound) {
  std::vector<std::string> seen;
  const auto met = meet(goes_on, [&](const std::vector<std::string>& values) {
    EXPECT_EQ(values.size(), static_cast<std::size_t>(store_members));
    seen.push_back(values[7]);
    if (seen.size() > 1) return Status();
    come(7, "late");
    return Status(Code::timeout, "member 7 comes again");
  });
  ASSERT_TRUE(met.ok()) << met.status().message();
  EXPECT_EQ(seen, (std::vector<std::string>{"early", "late"}));
}

// What another says is heard between two looks around, although not all values have been read.
TEST_F(SlowStoreTest, AnAllgatherEndsAsAnotherSaysWhileItReads) {
  const auto look_around = [&] { return file_->set("outcome", "given up", deadline_); };
  const auto met = meet(look_around, [](const auto&) { return Status(Code::timeout, "not sound"); });
  ASSERT_TRUE(met.ok()) << met.status().message();
  EXPECT_EQ(met->outcome, "given up");
}

}  // namespace
}  // namespace hocket
