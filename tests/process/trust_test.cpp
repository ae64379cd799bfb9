// Who takes part in a job: jobs with a secret, with none and with wrong ones, strangers at their doors, other users.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "src/store/store_server.hpp"
#include "src/store/tcp_store.hpp"
#include "tests/process/program.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/test_hosts.hpp"
#include "tests/process/support/with_comm.hpp"

namespace hocket::process_testing {
namespace {

using ::testing::HasSubstr;

constexpr char trust_secret[] = "what the ranks of this job know";

hocket_comm_options within(std::int64_t timeout_ms) {
  hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
  options.timeout_ms = timeout_ms;
  return options;
}

void expect_sum(hocket_comm* comm, int ranks) {
  float value = 1;
  ASSERT_EQ(hocket_allreduce(&value, &value, 1, HOCKET_FLOAT32, HOCKET_SUM, comm, nullptr, nullptr), HOCKET_OK)
      << hocket_last_error();
  EXPECT_EQ(value, static_cast<float>(ranks));
}

hocket_result trust_create(hocket_comm** comm, const hocket_comm_options& options) {
  *comm = nullptr;
  return hocket_comm_create(comm, &options);
}

TEST(Trust, ASecretOfTheOptionsOrOfAFileServesAsWell) {
  const TemporaryFolder folder;
  ProcessGroup group(3, [&](Child& child) {
    hocket_comm_options options = within(60'000);
    if (child.index == 0) options.secret = trust_secret;
    if (child.index == 1) ::setenv("HOCKET_SECRET", trust_secret, 1);
    if (child.index == 2) {
      const std::string path = folder.file("secret");
      std::ofstream(path) << trust_secret << "\n";
      ::chmod(path.c_str(), 0600);
      ::setenv("HOCKET_SECRET_FILE", path.c_str(), 1);
    }
    hocket_comm* comm = nullptr;
    ASSERT_EQ(trust_create(&comm, options), HOCKET_OK) << hocket_last_error();
    expect_sum(comm, 3);
    hocket_comm_destroy(comm);
  });
  group.expect_success();
}

TEST(Trust, AWrongSecretIsNamedAndAShortOneRefused) {
  ProcessGroup group(2, [](Child& child) {
    hocket_comm_options options = within(5'000);
    hocket_comm* comm = nullptr;
    options.secret = "short";
    EXPECT_EQ(trust_create(&comm, options), HOCKET_INVALID_ARGUMENT);
    EXPECT_THAT(hocket_last_error(), HasSubstr("options.secret has 5 characters"));
    options.secret = child.index == 0 ? trust_secret : "what the ranks of others know";
    EXPECT_NE(trust_create(&comm, options), HOCKET_OK);
    if (child.index == 1) {
      EXPECT_THAT(hocket_last_error(),
                  HasSubstr("it does not know this process's secret: give all processes of the job "
                            "the same HOCKET_SECRET"));
    }
  });
  group.expect_success();
}

// Neither a secret nor a word of the user's: this user's processes on this host are trusted, and the ranks make a
// secret of their own, which proves who is a rank.
TEST(Trust, RanksOfOneHostMakeASecret) {
  ProcessGroup group(2, [](Child& child) {
    const std::string url = "tcp://127.0.0.1:" + std::string(std::getenv("MASTER_PORT"));
    std::unique_ptr<StoreServer> server;
    if (child.index == 0) {
      server =
          StoreServer::start("127.0.0.1", static_cast<std::uint16_t>(std::atoi(std::getenv("MASTER_PORT")))).value();
    }
    hocket_comm_options options = within(60'000);
    options.store = url.c_str();
    hocket_comm* comm = nullptr;
    ASSERT_EQ(trust_create(&comm, options), HOCKET_OK) << hocket_last_error();
    expect_sum(comm, 2);
    if (child.index == 0) {
      const auto store = TcpStore::connect("127.0.0.1", server->port(), Deadline::after(std::chrono::seconds(60)));
      EXPECT_EQ((*store)->peek("default/secret", Deadline::after(std::chrono::seconds(60))).value().value_or("").size(),
                64u);
    }
    hocket_comm_destroy(comm);
  });
  group.expect_success();
}

TEST(Trust, AStoreFileThatOthersMayUseKeepsNoSecret) {
  const TemporaryFolder folder;
  const std::string path = folder.file("store"), url = "file://" + path;
  const auto job = [&](hocket_result expected, const char* words) {
    ProcessGroup group(2, [&](Child&) {
      hocket_comm_options options = within(60'000);
      options.store = url.c_str();
      hocket_comm* comm = nullptr;
      EXPECT_EQ(trust_create(&comm, options), expected) << hocket_last_error();
      if (comm == nullptr) {
        EXPECT_THAT(hocket_last_error(), HasSubstr(words));
      }
      hocket_comm_destroy(comm);
    });
    group.expect_success();
  };
  job(HOCKET_OK, "");
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  job(HOCKET_INVALID_ENVIRONMENT, "chmod 600");
}

TEST(Trust, AnotherUserCannotJoin) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  ProcessGroup group(2, [](Child& child) {
    if (child.index == 1 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) return;
    hocket_comm* comm = nullptr;
    EXPECT_NE(trust_create(&comm, within(4'000)), HOCKET_OK);
    if (child.index == 1) {
      EXPECT_THAT(hocket_last_error(), HasSubstr("belongs to another user"));
    }
  });
  group.expect_success();
}

TEST(Trust, SeveralHostsNeedASecretAndTheErrorSaysSo) {
  TestHosts hosts("--hosts 2");
  if (!hosts) GTEST_SKIP() << hosts.problem();
  const auto job = [&](const char* variable, const char* value, bool works) {
    ProcessGroup group(2, [&](Child& child) {
      hosts.enter(child.index);
      ::unsetenv("HOCKET_SECRET");
      if (variable != nullptr) ::setenv(variable, value, 1);
      hocket_comm* comm = nullptr;
      const hocket_result result = trust_create(&comm, within(works ? 60'000 : 5'000));
      if (works) {
        ASSERT_EQ(result, HOCKET_OK) << hocket_last_error();
        expect_sum(comm, 2);
      } else if (child.index == 1) {
        EXPECT_EQ(result, HOCKET_INVALID_ENVIRONMENT);
        EXPECT_THAT(hocket_last_error(), HasSubstr("set HOCKET_SECRET to one random text on all ranks"));
      }
      hocket_comm_destroy(comm);
    });
    group.expect_success();
  };
  job(nullptr, nullptr, false);
  job("LOCAL_WORLD_SIZE", "1", false);  // as torchrun says it: then every rank fails at once
  job("HOCKET_SECRET", trust_secret, true);
  job("HOCKET_INSECURE", "1", true);
}

// ---- what starts ranks

TEST(Trust, HocketRunMakesASecretThatOnlyTheEnvironmentHolds) {
  const Ran ran =
      run_command("$RUN -n 2 --no-label sh -c 'echo ${#HOCKET_SECRET}; cat /proc/$PPID/cmdline | tr -d \"\\0\"'");
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_THAT(ran.out, HasSubstr("64\n"));
  const Ran same = run_command("$RUN -n 3 --no-label sh -c 'echo $HOCKET_SECRET' | sort -u | wc -l");
  EXPECT_EQ(same.out, "1\n");
  const Ran next = run_command(
      "a=$($RUN -n 1 --no-label sh -c 'echo $HOCKET_SECRET'); b=$($RUN -n 1 --no-label sh -c "
      "'echo $HOCKET_SECRET'); test \"$a\" != \"$b\" && echo differ");
  EXPECT_EQ(next.out, "differ\n");
}

TEST(Trust, HocketRunLeavesASecretThatIsSet) {
  EXPECT_EQ(run_command("HOCKET_SECRET=0123456789abcdef $RUN -n 1 --no-label sh -c 'echo $HOCKET_SECRET'").out,
            "0123456789abcdef\n");
  EXPECT_EQ(run_command("HOCKET_INSECURE=1 $RUN -n 1 --no-label sh -c 'echo ${HOCKET_SECRET-none}'").out, "none\n");
}

TEST(Trust, SettingsDoNotShowASecret) {
  const Ran ran = run_command("HOCKET_SECRET=0123456789abcdef $PLAN settings");
  EXPECT_THAT(ran.out, HasSubstr("HOCKET_SECRET"));
  EXPECT_THAT(ran.out, ::testing::Not(HasSubstr("0123456789abcdef")));
}

}  // namespace
}  // namespace hocket::process_testing
