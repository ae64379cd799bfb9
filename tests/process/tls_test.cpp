// Jobs whose ranks and store speak TLS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/process/program.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/test_hosts.hpp"
#include "tests/process/support/with_comm.hpp"
#include "tests/support/certificates.hpp"

namespace hocket::process_testing {
namespace {

using hocket::testing_support::Authority;
using hocket::testing_support::CertificateFiles;
using ::testing::HasSubstr;

void tls_use(const CertificateFiles& files) {
  ::setenv("HOCKET_TLS_CERT", files.certificate.c_str(), 1);
  ::setenv("HOCKET_TLS_KEY", files.key.c_str(), 1);
  ::setenv("HOCKET_TLS_CA", files.authority.c_str(), 1);
}

hocket_result create(hocket_comm** comm, std::int64_t timeout_ms) {
  hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
  options.timeout_ms = timeout_ms;
  *comm = nullptr;
  return hocket_comm_create(comm, &options);
}

// Sums of so many elements that records, stripes and buffers are crossed.
void expect_sums(hocket_comm* comm, int ranks) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{5000}, std::size_t{3'000'001}}) {
    std::vector<float> values(count, 1);
    ASSERT_EQ(hocket_allreduce(values.data(), values.data(), count, HOCKET_FLOAT32, HOCKET_SUM, comm, nullptr, nullptr),
              HOCKET_OK)
        << hocket_last_error();
    EXPECT_EQ(values, std::vector<float>(count, static_cast<float>(ranks)));
  }
}

class Tls : public ::testing::Test {
 protected:
  // What a rank of a group that works does; `then` while the communicator stands.
  void create_and_sum(
      const Child& child, const std::function<void(hocket_comm*)>& then = [](hocket_comm*) {}) const {
    tls_use(files(child.index));
    hocket_comm* comm = nullptr;
    ASSERT_EQ(create(&comm, 60'000), HOCKET_OK) << hocket_last_error();
    expect_sums(comm, child.size);
    then(comm);
    hocket_comm_destroy(comm);
  }

  // Each rank has a certificate of its own.
  CertificateFiles files(int rank) const { return authority_.sign("rank" + std::to_string(rank)); }

  TemporaryFolder folder_;
  Authority authority_{folder_.path(), "authority"};
};

TEST_F(Tls, RanksComputeOverIt) {
  ProcessGroup group(3, [&](Child& child) {
    ::setenv("HOCKET_TRANSPORT", "tcp", 1);
    create_and_sum(child);
  });
  group.expect_success();
}

// The certificates prove who belongs to the job, so hosts need no secret beside them.
TEST_F(Tls, HostsNeedNoSecretBesideIt) {
  TestHosts hosts("--hosts 2");
  if (!hosts) GTEST_SKIP() << hosts.problem();
  ProcessGroup group(2, [&](Child& child) {
    hosts.enter(child.index);
    ::unsetenv("HOCKET_SECRET");
    create_and_sum(child);
  });
  group.expect_success();
}

TEST_F(Tls, ARankWithoutItIsToldWhatToSet) {
  ProcessGroup group(2, [&](Child& child) {
    if (child.index == 0) tls_use(files(0));
    hocket_comm* comm = nullptr;
    EXPECT_NE(create(&comm, 5'000), HOCKET_OK);
    if (child.index == 1) {
      EXPECT_THAT(hocket_last_error(), HasSubstr("it speaks TLS, and this side does not: set HOCKET_TLS_CERT"));
    }
  });
  group.expect_success();
}

TEST_F(Tls, ARankOfAnotherAuthorityIsKeptOut) {
  const Authority foreign(folder_.path(), "foreign");
  ProcessGroup group(2, [&](Child& child) {
    CertificateFiles mine = child.index == 0 ? files(0) : foreign.sign("stranger");
    mine.authority = authority_.file();
    tls_use(mine);
    hocket_comm* comm = nullptr;
    EXPECT_NE(create(&comm, 5'000), HOCKET_OK);
    if (child.index == 1) {
      EXPECT_THAT(hocket_last_error(), HasSubstr("TLS failed"));
    }
  });
  group.expect_success();
}

TEST_F(Tls, ADeathIsKnownOverIt) {
  ProcessGroup group(3, [&](Child& child) {
    ::setenv("HOCKET_TRANSPORT", "tcp", 1);
    create_and_sum(child, [&](hocket_comm* comm) {
      if (child.index == 1) ::raise(SIGKILL);
      float value = 1;
      EXPECT_EQ(hocket_allreduce(&value, &value, 1, HOCKET_FLOAT32, HOCKET_SUM, comm, nullptr, nullptr),
                HOCKET_PEER_LOST);
      EXPECT_THAT(hocket_last_error(), HasSubstr("rank 1"));
    });
  });
  group.expect_success(1);
}

// Each creation reads the files once: all its connections show one identity, and so do those of its children.
TEST_F(Tls, FilesThatChangeMeanwhileCountForTheNextCreation) {
  const CertificateFiles foreign = Authority(folder_.path(), "foreign").sign("stranger");
  const std::vector<CertificateFiles> own = {files(0), files(1)};
  ProcessGroup group(2, [&](Child& child) {
    const CertificateFiles& mine = own[static_cast<std::size_t>(child.index)];
    tls_use(mine);
    ::setenv("HOCKET_TRANSPORT", "tcp", 1);
    if (child.index == 1) {
      EXPECT_EQ(child.hear(), "come");
    }
    hocket_creation* creation = nullptr;
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.timeout_ms = 30'000;
    ASSERT_EQ(hocket_comm_create_start(&creation, &options), HOCKET_OK) << hocket_last_error();
    if (child.index == 0) {  // before it can have met rank 1
      std::filesystem::rename(foreign.certificate, mine.certificate);
      std::filesystem::rename(foreign.key, mine.key);
      child.say("replaced");
    }
    hocket_comm *comm = nullptr, *part = nullptr;
    ASSERT_EQ(hocket_creation_wait(creation, 0, &comm), HOCKET_OK) << hocket_last_error();
    hocket_creation_destroy(creation);
    expect_sums(comm, 2);
    ASSERT_EQ(hocket_comm_split(comm, 0, 0, &part, nullptr), HOCKET_OK) << hocket_last_error();
    expect_sums(part, 2);
    hocket_comm_destroy(part);
    hocket_comm_destroy(comm);
  });
  EXPECT_EQ(group.hear(0), "replaced");
  group.tell(1, "come");
  group.expect_success();
}

TEST_F(Tls, HalfOfItIsRefused) {
  ProcessGroup group(1, [&](Child&) {
    ::setenv("HOCKET_TLS_CERT", files(0).certificate.c_str(), 1);
    hocket_comm* comm = nullptr;
    EXPECT_EQ(create(&comm, 5'000), HOCKET_INVALID_ENVIRONMENT);
    EXPECT_THAT(hocket_last_error(), HasSubstr("belong together"));
  });
  group.expect_success();
}

}  // namespace
}  // namespace hocket::process_testing
