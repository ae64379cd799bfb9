#include "src/store/snapshot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "src/store/store_server.hpp"
#include "src/store/tcp_store.hpp"
#include "tests/process/program.hpp"
#include "tests/support/generous.hpp"

namespace hocket::store {
namespace {

std::unique_ptr<StoreServer> serve_snapshot(const std::string& snapshot) {
  auto server = StoreServer::start("127.0.0.1", 0, {.snapshot = snapshot});
  EXPECT_TRUE(server.ok()) << server.status().message();
  return server.ok() ? std::move(*server) : nullptr;
}

TEST(Snapshot, KeepsWhatNobodyOwnsFromOneServerToTheNext) {
  const TemporaryFolder folder;
  const std::string value("any\0byte", 8);
  {
    const auto server = serve_snapshot(folder.file("snapshot"));
    const auto store = TcpStore::connect("127.0.0.1", server->port(), generous());
    ASSERT_TRUE(store.ok()) << store.status().message();
    ASSERT_TRUE((*store)->set("kept", value, generous()).ok());
    ASSERT_TRUE((*store)->claim("owned", std::nullopt, "", {}, generous()).ok());
  }
  const auto server = serve_snapshot(folder.file("snapshot"));
  const auto store = TcpStore::connect("127.0.0.1", server->port(), generous());
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ((*store)->list("", generous()).value(), std::vector<std::string>{"kept"});
  EXPECT_EQ((*store)->get("kept", generous()).value(), value);
}

TEST(Snapshot, ThatIsDamagedIsLeftAlone) {
  const TemporaryFolder folder;
  const std::string path = folder.file("snapshot");
  Dictionary dictionary;
  ASSERT_TRUE(dictionary.set("key", "value").ok());
  ASSERT_TRUE(save_snapshot(path, dictionary, [](std::string_view) { return false; }).ok());
  const std::string whole = contents(path);
  for (const std::string& damaged : {whole + "x", whole.substr(0, whole.size() - 1), "x" + whole, std::string()}) {
    std::ofstream(path, std::ios::trunc) << damaged;
    const auto server = StoreServer::start("127.0.0.1", 0, {.snapshot = path});
    ASSERT_FALSE(server.ok());
    EXPECT_EQ(server.status().code(), Code::protocol_error);
    EXPECT_THAT(server.status().message(), testing::HasSubstr(path));
    EXPECT_EQ(contents(path), damaged);
  }
}

TEST(Snapshot, ThatCannotBeWrittenLeavesTheOldOne) {
  const TemporaryFolder folder;
  const std::string path = folder.file("snapshot");
  std::ofstream(path) << "old";
  std::filesystem::create_directory(path + ".new");  // where the new one would be written
  const Status saved = save_snapshot(path, Dictionary(), [](std::string_view) { return false; });
  EXPECT_EQ(saved.code(), Code::invalid_environment);
  EXPECT_EQ(contents(path), "old");
}

}  // namespace
}  // namespace hocket::store
