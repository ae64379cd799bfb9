#include "src/comm/peer_info.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/some_peer_info.hpp"

namespace hocket::comm {
namespace {

using testing::HasSubstr;
using testing_support::some_peer_info;

TEST(PeerInfo, TravelsAsBytes) {
  const auto read = PeerInfo::parse(some_peer_info().serialise());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, some_peer_info());
}

// Whatever follows: another build may write it in another way.
TEST(PeerInfo, OfAnotherProtocolIsReadUpToThat) {
  PeerInfo other = some_peer_info();
  ++other.build.protocol;
  for (const std::string& rest : {std::string(), std::string("\xff\xff"), std::string(1000, 'x')}) {
    const auto read = PeerInfo::parse(other.serialise().substr(0, sizeof(BuildIdentity)) + rest);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(read->build, other.build);
    EXPECT_TRUE(read->endpoints.empty());
  }
}

TEST(PeerInfo, RefusesASpeedThatThereIsNone) {
  std::string bytes = some_peer_info().serialise();
  bytes.replace(bytes.find("25g"), 3, "26g");
  EXPECT_EQ(PeerInfo::parse(bytes).status().code(), Code::protocol_error);
}

TEST(PeerInfo, RefusesWhatWasCutShortOrGoesOn) {
  const std::string bytes = some_peer_info().serialise();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_EQ(PeerInfo::parse(bytes.substr(0, length)).status().code(), Code::protocol_error) << length;
  }
  EXPECT_EQ(PeerInfo::parse(bytes + "x").status().code(), Code::protocol_error);
}

TEST(PeerInfo, TravelsInABlockOfItsRank) {
  std::vector<std::byte> all(3 * peer_info_bytes_max);
  ASSERT_TRUE(write_peer_info(peer_info_block(all, 1), some_peer_info()).ok());
  EXPECT_EQ(peer_info_block(all, 2).data() - peer_info_block(all, 1).data(), std::ptrdiff_t{peer_info_bytes_max});
  const auto read = read_peer_info(peer_info_block(all, 1));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, some_peer_info());
}

TEST(PeerInfo, AFailureTravelsInItsPlace) {
  std::vector<std::byte> block(peer_info_bytes_max);
  ASSERT_TRUE(write_peer_info(peer_info_block(block, 0), Status(Code::out_of_resources, "no \x1b[mdescriptor")).ok());
  const auto read = read_peer_info(peer_info_block(block, 0));
  EXPECT_EQ(read.status().code(), Code::out_of_resources);
  EXPECT_EQ(read.status().message(), "no \\x1b[mdescriptor");
}

TEST(PeerInfo, RefusesAddressesThatDoNotFit) {
  std::vector<std::byte> block(peer_info_bytes_max);
  PeerInfo info = some_peer_info();
  info.endpoints.push_back({"tcp", std::string(peer_info_bytes_max, 'x')});
  const Status status = write_peer_info(peer_info_block(block, 0), info);
  EXPECT_EQ(status.code(), Code::internal);
  EXPECT_THAT(status.message(), HasSubstr("this rank's addresses take"));
}

TEST(PeerInfo, RefusesADamagedBlock) {
  std::vector<std::byte> block(peer_info_bytes_max, std::byte{0xff});
  EXPECT_EQ(read_peer_info(peer_info_block(block, 0)).status().code(), Code::protocol_error);
}

}  // namespace
}  // namespace hocket::comm
