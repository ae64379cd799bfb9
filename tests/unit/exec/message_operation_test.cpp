#include "src/exec/message_operation.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "src/exec/any_source_receive.hpp"
#include "tests/unit/exec/fake_peers.hpp"

namespace hocket {
namespace {

// Nothing comes over it; takes note of what is told.
class SilentLink final : public testing_support::FakeLink {
 public:
  void tell_waiting(const Waiting& what) override { told.push_back(what); }

  std::vector<Waiting> told;
};

class SilentPeers final : public testing_support::FakePeers {
 public:
  Result<Link*> link(Rank, Deadline) override { return &silent; }

  SilentLink silent;
};

// The operation inside has no number of its own, and the peer looks at the number.
TEST(MessageOperation, InsideAnotherSaysThatItWaitsInThatRunOfTheOther) {
  const auto context = std::make_shared<Context>();
  const auto receive_from = [&](Rank source) {
    return std::make_shared<MessageOperation>(context, source, false, "test");
  };
  AnySourceReceive receive(context, receive_from, nullptr, "test");
  receive.bind({.input = nullptr,
                .output = nullptr,
                .signature = {.kind = SignatureKind::receive, .collective = Collective::recv, .root = no_rank},
                .reduction = {},
                .timeout = std::chrono::hours(1)});
  receive.take_from(1);
  SilentPeers peers;
  const Tag tag{.communicator = 3, .sequence = 7, .call = receive.signature()};
  ASSERT_TRUE(receive.start(tag, peers).ok());
  receive.tell_waiting(2, 0);
  const std::vector<Waiting> expected{{.tag = tag, .missing = 2, .witness = 0}};
  EXPECT_EQ(peers.silent.told, expected);
}

}  // namespace
}  // namespace hocket
