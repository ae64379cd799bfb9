#include "src/comm/peer_info.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace hocket::comm {
namespace {

using testing::HasSubstr;

PeerInfo some_info() {
  PeerInfo info{.build = BuildIdentity::own(),
                .endpoints = {{"shm", std::string("\0binary", 7)}, {"tcp", ""}},
                .host = "a host",
                .algorithm = "ring",
                .tuning = "1234",
                .deterministic = true,
                .speed = NetworkSpeed::gbit_25};
  info.cores.add(77);
  return info;
}

TEST(PeerInfo, TravelsAsBytes) {
  const auto read = PeerInfo::parse(some_info().serialise());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, some_info());
}

// Whatever follows: another build may write it in another way.
TEST(PeerInfo, OfAnotherProtocolIsReadUpToThat) {
  PeerInfo other = some_info();
  ++other.build.protocol;
  for (const std::string& rest : {std::string(), std::string("\xff\xff"), std::string(1000, 'x')}) {
    const auto read = PeerInfo::parse(other.serialise().substr(0, sizeof(BuildIdentity)) + rest);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(read->build, other.build);
    EXPECT_TRUE(read->endpoints.empty());
  }
}

TEST(PeerInfo, RefusesASpeedThatThereIsNone) {
  std::string bytes = some_info().serialise();
  bytes.replace(bytes.find("25g"), 3, "26g");
  EXPECT_EQ(PeerInfo::parse(bytes).status().code(), Code::protocol_error);
}

// Save between two endpoints, where nothing shows that another one was there.
TEST(PeerInfo, RefusesWhatWasCutShort) {
  PeerInfo info = some_info();
  const std::string bytes = info.serialise();
  std::vector<std::size_t> whole;
  while (!info.endpoints.empty()) {
    info.endpoints.pop_back();
    whole.push_back(info.serialise().size());
  }
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const auto read = PeerInfo::parse(bytes.substr(0, length));
    EXPECT_EQ(read.ok(), std::ranges::find(whole, length) != whole.end()) << length;
    EXPECT_TRUE(read.ok() || read.status().code() == Code::protocol_error) << length;
  }
}

TEST(PeerInfo, TravelsInABlockOfItsRank) {
  std::vector<std::byte> all(3 * peer_info_bytes_max);
  ASSERT_TRUE(write_peer_info(peer_info_block(all, 1), some_info()).ok());
  EXPECT_EQ(peer_info_block(all, 2).data() - peer_info_block(all, 1).data(), std::ptrdiff_t{peer_info_bytes_max});
  const auto read = read_peer_info(peer_info_block(all, 1));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, some_info());
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
  PeerInfo info = some_info();
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
