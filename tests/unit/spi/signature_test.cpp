#include "src/spi/signature.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <vector>

#include "tests/unit/spi/signature_changes.hpp"

namespace hocket {
namespace {

TEST(Signature, EveryFieldCounts) {
  const Signature call{.collective = Collective::allreduce};
  EXPECT_EQ(call, Signature{.collective = Collective::allreduce});
  for (std::size_t i = 0; i < signature_changes.size(); ++i) {
    Signature other = call;
    signature_changes[i](other);
    EXPECT_NE(call, other) << i;
    EXPECT_NE(std::memcmp(&call, &other, sizeof call), 0) << i;
  }
}

TEST(Signature, AReceiveIsNamedAsTheSendThatItTakes) {
  const Signature send{.kind = SignatureKind::send, .collective = Collective::send, .root = 3, .count = 5};
  const Signature receive{.kind = SignatureKind::receive, .collective = Collective::recv, .root = 3, .count = 5};
  EXPECT_EQ(as_sent(receive), send);
  EXPECT_EQ(as_sent(send), send);
  EXPECT_EQ(as_received(send), receive);
  EXPECT_EQ(as_received(receive), receive);
  EXPECT_TRUE(is_message(send) && is_message(receive));
  EXPECT_EQ(describe(send), "send of 5 uint8");
  EXPECT_EQ(describe(receive), "recv of 5 uint8");
  const Signature collective{.collective = Collective::allreduce};
  EXPECT_EQ(as_sent(collective), collective);
  EXPECT_EQ(as_received(collective), collective);
  EXPECT_FALSE(is_message(collective));
}

}  // namespace
}  // namespace hocket
