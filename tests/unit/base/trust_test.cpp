// Where a secret comes from, and what is refused as one.
#include "src/base/trust.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace hocket {
namespace {

using ::testing::HasSubstr;

const std::string good = "0123456789abcdef";

class TrustTest : public ::testing::Test {
 protected:
  TrustTest() { clear(); }
  ~TrustTest() override {
    clear();
    ::unlink(path_.c_str());
  }
  static void clear() {
    for (const char* name : {"HOCKET_SECRET", "HOCKET_SECRET_FILE", "HOCKET_INSECURE"}) ::unsetenv(name);
  }
  void write(const std::string& text, mode_t mode = 0600) {
    std::ofstream(path_) << text;
    ASSERT_EQ(::chmod(path_.c_str(), mode), 0);
    ::setenv("HOCKET_SECRET_FILE", path_.c_str(), 1);
  }
  static void expect_refusal(const std::string& words) {
    const Status status = Trust::from_environment().status();
    EXPECT_EQ(status.code(), Code::invalid_environment);
    EXPECT_THAT(status.message(), HasSubstr(words));
  }

  const std::string path_ = ::testing::TempDir() + "hocket_secret_" + std::to_string(::getpid());
};

TEST_F(TrustTest, ThereIsNoneWhereNothingIsSet) {
  const auto trust = Trust::from_environment();
  ASSERT_TRUE(trust.ok());
  EXPECT_EQ(trust->secret, "");
  EXPECT_FALSE(trust->insecure);
}

TEST_F(TrustTest, IsReadFromAVariableOrAFile) {
  ::setenv("HOCKET_SECRET", good.c_str(), 1);
  EXPECT_EQ(Trust::from_environment()->secret, good);
  ::setenv("HOCKET_INSECURE", "1", 1);
  EXPECT_TRUE(Trust::from_environment()->insecure);
  ::unsetenv("HOCKET_SECRET");
  write(good + "\n");
  EXPECT_EQ(Trust::from_environment()->secret, good);
  write(std::string(1024, 's') + "\n");
  EXPECT_EQ(Trust::from_environment()->secret.size(), 1024u);
}

TEST_F(TrustTest, AFileThatOthersMayUseIsRefused) {
  for (const mode_t mode : {0604, 0640, 0620, 0602, 0666}) {
    write(good, mode);
    expect_refusal("chmod 600");
  }
}

TEST_F(TrustTest, AFileOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  write(good);
  ASSERT_EQ(::chown(path_.c_str(), 65534, 65534), 0);
  expect_refusal("belongs to another user");
}

TEST_F(TrustTest, WhatIsNoFileIsRefused) {
  ::setenv("HOCKET_SECRET_FILE", "/nowhere/at/all", 1);
  expect_refusal("/nowhere/at/all");
  ::setenv("HOCKET_SECRET_FILE", "/dev/null", 1);
  expect_refusal("no regular file");
}

TEST_F(TrustTest, WhatIsTooShortOrTooLongIsRefused) {
  write("");
  expect_refusal("openssl rand");
  write("short");
  expect_refusal("5 characters");
  write(std::string(1025, 's'));
  expect_refusal("1025 characters");
  clear();
  ::setenv("HOCKET_SECRET", "short", 1);
  expect_refusal("HOCKET_SECRET has 5 characters");
  ::setenv("HOCKET_SECRET_FILE", path_.c_str(), 1);
  expect_refusal("both set");
}

TEST_F(TrustTest, ARandomSecretIsAGoodOne) {
  EXPECT_TRUE(check_secret(random_secret(), "it").ok());
  EXPECT_NE(random_secret(), random_secret());
}

}  // namespace
}  // namespace hocket
