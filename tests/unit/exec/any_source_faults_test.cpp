// Receives from any rank over loopback that delays and loses messages: executors and links without a communicator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "src/exec/any_source_receive.hpp"
#include "tests/unit/exec/loopback_member.hpp"

namespace hocket {
namespace {

constexpr std::size_t count = 10;

Binding binding_of(std::vector<int>& values, SignatureKind kind, Rank sender) {
  return {.input = reinterpret_cast<std::byte*>(values.data()),
          .output = reinterpret_cast<std::byte*>(values.data()),
          .signature = {.kind = kind,
                        .collective = kind == SignatureKind::send ? Collective::send : Collective::recv,
                        .dtype = DataType::int32,
                        .root = sender,
                        .count = count},
          .reduction = {},
          .timeout = std::chrono::seconds(60)};
}

class Member : public exec_testing::LoopbackMember {
 public:
  using LoopbackMember::LoopbackMember;
  Status send(std::vector<int> values, Rank to) {
    auto operation = std::make_shared<MessageOperation>(context_, to, true, "test");
    operation->bind(binding_of(values, SignatureKind::send, rank_));
    const std::shared_ptr<Operation> running = std::move(operation);
    return LoopbackMember::run(running);
  }
  Status receive_any(std::vector<int>& values, Rank& source) {
    const auto receive_from = [this](Rank peer) {
      return std::make_shared<MessageOperation>(context_, peer, false, "test");
    };
    const std::shared_ptr<Operation> running =
        std::make_shared<AnySourceReceive>(context_, receive_from, &source, "test");
    running->bind(binding_of(values, SignatureKind::receive, no_rank));
    return LoopbackMember::run(running);
  }
};

TEST(AnySourceOverFaultyLinks, DelayedMessagesComeInTheirOrder) {
  const auto hub = std::make_shared<LoopbackHub>(
      3, std::vector<LoopbackFault>{{.from = 1, .to = 0, .delay = 30}, {.from = 2, .to = 0, .delay = 3}});
  auto members = exec_testing::members_of<Member>(*hub);
  constexpr int each = 40;
  std::vector<std::thread> senders;
  for (const Rank rank : {1, 2}) {
    senders.emplace_back([&members, rank] {
      for (int number = 0; number < each; ++number) {
        EXPECT_TRUE(
            members[static_cast<std::size_t>(rank)]->send(std::vector<int>(count, 1000 * rank + number), 0).ok());
      }
    });
  }
  int next[3] = {};
  for (int message = 0; message < 2 * each; ++message) {
    std::vector<int> values(count);
    Rank source = no_rank;
    const Status status = members[0]->receive_any(values, source);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(source == 1 || source == 2);
    EXPECT_THAT(values, testing::Each(1000 * source + next[source]++));
  }
  for (std::thread& sender : senders) sender.join();
  for (auto& member : members) member->leave();
}

TEST(AnySourceOverFaultyLinks, ALinkThatIsLostIsAnError) {
  for (const bool mid_message : {false, true}) {
    const auto hub = std::make_shared<LoopbackHub>(
        3, std::vector<LoopbackFault>{{.from = 1, .to = 0, .messages = 2, .mid_message = mid_message}});
    auto members = exec_testing::members_of<Member>(*hub);
    for (int number = 0; number < 3; ++number) (void)members[1]->send(std::vector<int>(count, number), 0);
    Rank source = no_rank;
    std::vector<int> values(count);
    for (int number = 0; number < 2; ++number) {
      ASSERT_TRUE(members[0]->receive_any(values, source).ok());
      EXPECT_EQ(source, 1);
      EXPECT_THAT(values, testing::Each(number));
    }
    const Status status = members[0]->receive_any(values, source);
    EXPECT_EQ(status.code(), Code::peer_lost);
    EXPECT_EQ(status.cause().peer, 1);
    for (auto& member : members) member->leave();
  }
}

}  // namespace
}  // namespace hocket
