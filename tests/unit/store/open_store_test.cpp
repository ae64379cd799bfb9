#include "src/store/open_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "src/store/store_server.hpp"
#include "tests/support/generous.hpp"

namespace hocket {
namespace {

TEST(OpenStore, MalformedUrlsAreExplained) {
  for (const std::string& url : {std::string(),
                                 std::string("tcp"),
                                 std::string("tcp://"),
                                 std::string("tcp://node0"),
                                 std::string("tcp://:29500"),
                                 std::string("tcp://node0:"),
                                 std::string("tcp://node0:port"),
                                 std::string("tcp://node0:0"),
                                 std::string("tcp://node0:65536"),
                                 std::string("tcp://node0:-1"),
                                 std::string("tcp://node0:29500/"),
                                 std::string("tcp://node0:29500 "),
                                 std::string("tcp://::1:29500"),
                                 std::string("tcp://[::1]"),
                                 std::string("tcp://[::1:29500"),
                                 std::string("tcp://[]:29500"),
                                 std::string("tcp://[::1]2]:29500"),
                                 std::string("tcp://user@node0:29500"),
                                 std::string("tcp://no de:29500"),
                                 std::string("tcp://no\0de:29500", 17),
                                 std::string("http://node0:29500"),
                                 std::string("node0:29500"),
                                 std::string("file://"),
                                 std::string("file://relative/path"),
                                 std::string("file:/x"),
                                 std::string("file:///x\0y", 11),
                                 std::string("redis://user@node0:1"),
                                 std::string("redis://node0"),
                                 std::string("redis://node0:1/x"),
                                 std::string("redis://node0:1?db=1"),
                                 std::string("redis://:a%2@node0:1"),
                                 std::string("memory")}) {
    const auto opened = open_store(url, generous());
    ASSERT_FALSE(opened.ok()) << url;
    if (opened.status().code() == Code::unsupported && url.starts_with("redis")) continue;  // a build without it
    EXPECT_EQ(opened.status().code(), Code::invalid_environment) << url;
    EXPECT_THAT(opened.status().message(), testing::HasSubstr("tcp://node0:29500")) << url;
  }
}

TEST(OpenStore, NoMessageShowsAPassword) {
  for (const std::string url : {"redis://:hidden@node0", "rediss://:hidden@node0:1", "redis:/:hidden@node0:1",
                                "redis:/user:hid://den@node0:1", ":hidden@node0:1", "tcp://me:hidden@x@node0:1"}) {
    const auto opened = open_store(url, generous());
    ASSERT_FALSE(opened.ok()) << url;
    EXPECT_THAT(opened.status().message(), testing::Not(testing::HasSubstr("hid"))) << url;
    EXPECT_THAT(opened.status().message(), testing::HasSubstr("@node0")) << url;
  }
}

TEST(OpenStore, OpensByScheme) {
  std::string directory = std::filesystem::temp_directory_path() / "hocket-open-XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  const std::string url = "file://" + directory + "/store";
  {
    const auto file = open_store(url, generous());
    ASSERT_TRUE(file.ok()) << file.status().message();
    EXPECT_EQ((*file)->url(), url);
    EXPECT_EQ((*file)->add("n", 3, generous()).value(), 3);
  }
  EXPECT_EQ(open_store(url, generous()).value()->get("n", generous()).value(), "3");
  std::filesystem::remove_all(directory);

  const auto server = StoreServer::start("localhost", 0);
  ASSERT_TRUE(server.ok()) << server.status().message();
  const auto tcp = open_store((*server)->url(), generous());
  ASSERT_TRUE(tcp.ok()) << tcp.status().message();
  EXPECT_EQ((*tcp)->url(), (*server)->url());
  EXPECT_EQ((*tcp)->add("n", 4, generous()).value(), 4);
}

}  // namespace
}  // namespace hocket
