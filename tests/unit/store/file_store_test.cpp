#include "src/store/file_store.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "src/store/record.hpp"
#include "tests/support/generous.hpp"

namespace hocket {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class FileStoreTest : public testing::Test {
 protected:
  FileStoreTest() {
    std::string name = fs::temp_directory_path() / "hocket-file-XXXXXX";
    directory_ = ::mkdtemp(name.data());
    path_ = directory_ / "store";
  }
  ~FileStoreTest() override { fs::remove_all(directory_); }

  std::unique_ptr<FileStore> open() {
    auto opened = FileStore::open(path_, generous());
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return opened.ok() ? std::move(*opened) : nullptr;
  }
  void write(std::string_view bytes) { std::ofstream(path_, std::ios::binary) << bytes; }
  void append(std::string_view bytes) { std::ofstream(path_, std::ios::binary | std::ios::app) << bytes; }
  std::string read() {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Runs in a process of its own; its exit status says whether it returned true.
  template <class Body>
  pid_t spawn(Body body) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(body() ? 0 : 1);
    return child;
  }

  fs::path directory_, path_;
};

TEST_F(FileStoreTest, ForeignFilesAreNamedAndLeftAlone) {
  std::string noise(5000, '\0');
  std::mt19937 random(20260104);
  for (char& byte : noise) byte = static_cast<char>(random());
  for (const std::string& bytes :
       {std::string("x"), std::string("#!/bin/sh\necho hello\n"), noise, std::string(1, '\0')}) {
    write(bytes);
    const auto opened = FileStore::open(path_, generous());
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.status().code(), Code::protocol_error);
    EXPECT_THAT(opened.status().message(), HasSubstr(path_.string()));
    EXPECT_TRUE(read() == bytes);
  }
}

TEST_F(FileStoreTest, PlacesThatCannotHoldAStoreAreExplained) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const std::string no_directory = directory_ / "no" / "such";
  const std::pair<std::string, std::string> places[] = {
      {no_directory + "/store", no_directory + " does not exist"},
      {directory_, "is a directory"},
      {directory_.string() + "/", "is a directory"},
      {"/", "is a directory"},
      {path_, "is no regular file; name another path"},
      {path_.string() + "/store", "Not a directory"},
      {"/dev/null", "is no regular file; name another path"},
      {directory_ / std::string(300, 'x'), "File name too long"},
      {"/proc/store", "does not exist"},
      {"/proc/version", ::geteuid() == 0 ? "cannot write" : "permission denied"},
  };
  for (const auto& [path, why] : places) {
    const auto opened = FileStore::open(path, generous());
    EXPECT_EQ(opened.status().code(), Code::invalid_environment) << path;
    EXPECT_THAT(opened.status().message(), HasSubstr(path));
    EXPECT_THAT(opened.status().message(), HasSubstr(why));
  }
}

TEST_F(FileStoreTest, ThatBelongsToAnotherUserKeepsNoSecret) {
  auto opened = FileStore::open(path_, generous());
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_TRUE((*opened)->confidential().ok());
  if (::chown(path_.c_str(), ::geteuid() + 1, ::getegid()) != 0) GTEST_SKIP() << "only root can give a file away";
  EXPECT_EQ((*opened)->confidential().code(), Code::invalid_environment);
  EXPECT_THAT((*opened)->confidential().message(), HasSubstr("another user, to whom it belongs,"));
}

TEST_F(FileStoreTest, WhoWaitsForOthersCanGiveUp) {
  const UniqueFd held(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::flock(held.get(), LOCK_EX), 0);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(FileStore::open(path_, generous(), stop.get_token()).status().code(), Code::aborted);
}

TEST_F(FileStoreTest, WhatWasSetOutlivesTheObject) {
  ASSERT_TRUE(open()->set("a", "1", generous()).ok());
  ASSERT_TRUE(open()->set("b", "2", generous()).ok());
  ASSERT_TRUE(open()->remove("a", generous()).value());
  EXPECT_EQ(open()->list("", generous()).value(), std::vector<std::string>{"b"});
}

// A process that died while it wrote: at every place of the record, and of the header.
TEST_F(FileStoreTest, HalfARecordOfADeadWriterIsOverwritten) {
  const std::string record = store::encode_record("half", "written");
  for (std::size_t bytes = 1; bytes < record.size(); ++bytes) {
    fs::remove(path_);
    const auto store = open();
    ASSERT_TRUE(store->set("before", "1", generous()).ok());
    append(record.substr(0, bytes));
    EXPECT_EQ(store->peek("half", generous()).value(), std::nullopt);
    EXPECT_EQ(open()->peek("before", generous()).value(), "1");
    ASSERT_TRUE(store->set("after", "2", generous()).ok());
    EXPECT_EQ(open()->list("", generous()).value(), (std::vector<std::string>{"after", "before"}));
  }
  for (std::size_t bytes = 0; bytes < store::file_header.size(); ++bytes) {
    write(store::file_header.substr(0, bytes));
    ASSERT_TRUE(open()->set("key", "1", generous()).ok());
    EXPECT_EQ(open()->get("key", generous()).value(), "1");
  }
}

TEST_F(FileStoreTest, DamageIsReported) {
  const auto store = open();
  ASSERT_TRUE(store->set("a", "1", generous()).ok());
  std::string record = store::encode_record("b", "2");
  record.back() = '3';
  append(record);
  const auto value = store->peek("a", generous());
  EXPECT_EQ(value.status().code(), Code::protocol_error);
  EXPECT_THAT(value.status().message(), HasSubstr(path_.string()));
  EXPECT_THAT(value.status().message(), HasSubstr("damaged"));
  EXPECT_EQ(store->set("a", "2", generous()).code(), Code::protocol_error);
}

TEST_F(FileStoreTest, CuttingIsReported) {
  const auto store = open();
  ASSERT_TRUE(store->set("a", "1", generous()).ok());
  fs::resize_file(path_, store::file_header.size());
  EXPECT_EQ(store->peek("a", generous()).status().code(), Code::protocol_error);
}

TEST_F(FileStoreTest, DeletionEndsWaits) {
  const auto store = open();
  Result<std::string> got = std::string();
  std::thread waiter([&] { got = store->get("never", generous()); });
  fs::remove(path_);
  waiter.join();
  EXPECT_EQ(got.status().code(), Code::store_unreachable);
  ASSERT_NE(open(), nullptr);  // another file of that name is no substitute
  EXPECT_EQ(store->set("a", "1", generous()).code(), Code::store_unreachable);
}

TEST_F(FileStoreTest, ALockThatIsNotGivenBackEndsTheCallAtItsDeadline) {
  const auto store = open();
  const UniqueFd other(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(other.get(), LOCK_EX), 0);
  const auto sum = store->add("n", 1, Deadline::after(std::chrono::milliseconds(50)));
  EXPECT_EQ(sum.status().code(), Code::timeout);
  EXPECT_THAT(sum.status().message(), HasSubstr("\"n\""));
  EXPECT_EQ(store->get("n", Deadline::after(std::chrono::milliseconds(50))).status().code(), Code::timeout);
  ASSERT_EQ(::flock(other.get(), LOCK_UN), 0);
  EXPECT_EQ(store->add("n", 1, generous()).value(), 1);
}

TEST_F(FileStoreTest, ProcessesAddAndWaitTogether) {
  constexpr int processes = 6, rounds = 50;
  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i) {
    children.push_back(spawn([&] {
      const auto opened = FileStore::open(path_, generous());
      if (!opened || !(*opened)->get("go", generous())) return false;
      for (int round = 0; round < rounds; ++round) {
        if (!(*opened)->add("sum", 1, generous())) return false;
      }
      return true;
    }));
  }
  const auto store = open();
  ASSERT_TRUE(store->set("go", "", generous()).ok());
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_EQ(store->get("sum", generous()).value(), std::to_string(processes * rounds));
}

// Writers that are killed at any moment leave a store that goes on, and every sum that they saw.
TEST_F(FileStoreTest, KilledWritersDoNoHarm) {
  auto store = open();
  const std::string large(200'000, 'x');
  for (int round = 0; round < 20; ++round) {
    const pid_t child = spawn([&] {
      const auto mine = FileStore::open(path_, generous());
      while (mine && (*mine)->add("n", 1, generous()) && (*mine)->set("large", large, generous())) {
      }
      return false;
    });
    const std::int64_t before = store->add("n", 0, generous()).value();
    while (store->add("n", 0, generous()).value() < before + 3) std::this_thread::yield();
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    const auto sum = store->add("n", 1, generous());
    ASSERT_TRUE(sum.ok()) << sum.status().message();
    EXPECT_EQ(open()->get("n", generous()).value(), std::to_string(*sum));
    EXPECT_TRUE(open()->get("large", generous()).value() == large);
    fs::remove(path_);  // it has grown
    store = open();
  }
}

}  // namespace
}  // namespace hocket
