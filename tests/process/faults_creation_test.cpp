// Groups that cannot come together: each rank gets a sentence that says why, in time.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "src/store/file_store.hpp"
#include "tests/process/program.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

using testing::HasSubstr;

hocket_result create_within(std::int64_t timeout_ms) {
  hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
  options.timeout_ms = timeout_ms;
  return create_in_vain(&options);
}

// ---- ranks that do not come, or come twice

TEST(Creation, NamesTheRanksThatDidNotCome) {
  run_ranks(5, [](Child& child) {
    if (child.index == 1 || child.index == 3) return;
    expect_result(create_within(1500), HOCKET_TIMEOUT);
    EXPECT_THAT(std::string(hocket_last_error()), testing::ContainsRegex("missing[^0-9]*1, 3"));
  });
}

TEST(Creation, WithoutRankZeroSaysThatNobodyServesTheStore) {
  run_ranks(3, [](Child& child) {
    if (child.index == 0) return;
    expect_result(create_within(1000), HOCKET_STORE_UNREACHABLE);
    expect_message_names(std::getenv("MASTER_PORT"));
  });
}

// The first process waits for rank 2 while the second comes. Rank 2 only comes when the second has been refused.
TEST(Creation, RefusesASecondProcessOfOneRank) {
  const TemporaryFolder folder;
  const std::string path = folder.file("store");
  ProcessGroup group(4, [&](Child& child) {
    constexpr int second = 3;
    ::setenv("WORLD_SIZE", "3", 1);
    ::setenv("HOCKET_STORE", ("file://" + path).c_str(), 1);
    if (child.index >= 2) {
      EXPECT_EQ(child.hear(), "come");
    }
    if (child.index == second) {
      ::setenv("RANK", "1", 1);
      expect_result(create_within(20'000), HOCKET_RANK_TAKEN);
      expect_message_names("rank 1");
      child.say("refused");
      return;
    }
    const Comm comm;
    ASSERT_TRUE(comm);
    Call({.count = 100}, child.index, 3).run(comm.get());
  });
  // Rank 1 has said in the store where it is, so it waits for rank 2.
  auto store = FileStore::open(path, Deadline::after(std::chrono::seconds(60)));
  ASSERT_TRUE(store.ok()) << store.status().message();
  ASSERT_TRUE((*store)->get("default/1/card/1", Deadline::after(std::chrono::seconds(60))).ok());
  group.tell(3, "come");
  EXPECT_EQ(group.hear(3), "refused");
  group.tell(2, "come");
  group.expect_success();
}

TEST(Creation, FindsOutThatRanksDisagreeOnTheWorldSize) {
  run_ranks(2, [](Child& child) {
    ::setenv("WORLD_SIZE", child.index == 0 ? "2" : "3", 1);
    expect_result(create_within(20'000), HOCKET_MISMATCH);
    expect_message_names("2");
    expect_message_names("3");
  });
}

TEST(Creation, FindsOutThatRanksDisagreeOnTheAlgorithm) {
  run_ranks(2, [](Child& child) {
    ::setenv("HOCKET_ALGORITHM", child.index == 0 ? "ring" : "two_shot", 1);
    expect_result(create_within(20'000), HOCKET_MISMATCH);
    expect_message_names("ring");
    expect_message_names("two_shot");
  });
}

TEST(Creation, EndsForTheOthersWhenARankIsKilledInIt) {
  ProcessGroup group(3, [](Child& child) {
    if (child.index == 2) {
      child.say("here");
      (void)child.hear();
      return;
    }
    child.say("here");
    const hocket_result result = create_within(2000);
    EXPECT_TRUE(result == HOCKET_TIMEOUT || result == HOCKET_STORE_UNREACHABLE || result == HOCKET_PEER_LOST)
        << hocket_result_name(result) << hocket_last_error();
  });
  group.hear_from_all("here");
  group.signal(0, SIGKILL);
  group.tell(2, "leave");
  group.expect_success(0);
}

// ---- stores

TEST(Store, ThatIsUnreachableIsNamed) {
  run_ranks(2, [](Child&) {
    const std::string closed = "tcp://127.0.0.1:" + std::string(std::getenv("MASTER_PORT"));
    for (const std::string& url : {closed, std::string("tcp://no-such-host.invalid:1234")}) {
      hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
      options.timeout_ms = 1000;
      options.store = url.c_str();
      expect_result(create_in_vain(&options), HOCKET_STORE_UNREACHABLE, url);
      expect_message_names(url.substr(url.find("//") + 2));
    }
  });
}

// However long it would have.
TEST(Store, ThatNoFileCanBeIsRefusedAtOnce) {
  run_ranks(2, [](Child&) {
    for (const char* url : {"file:///no/such/folder/store", "file:///", "file:///tmp", "file:///dev/null"}) {
      hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
      options.timeout_ms = 3'600'000;
      options.store = url;
      expect_result(create_in_vain(&options), HOCKET_INVALID_ENVIRONMENT, url);
      expect_message_names(url + std::string_view("file://").size());
    }
  });
}

TEST(Store, OfNoKnownKindIsRefused) {
  run_ranks(2, [](Child&) {
    for (const char* url : {"carrier-pigeon://nest", "127.0.0.1:80", "tcp://127.0.0.1", "tcp://127.0.0.1:99999"}) {
      hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
      options.timeout_ms = 1000;
      options.store = url;
      expect_result(create_in_vain(&options), HOCKET_INVALID_ENVIRONMENT, url);
      expect_message_names(url);
    }
  });
}

// Listens on a port and says no word that Hocket understands: it is silent, or, as PyTorch's store does, hangs up on
// whoever does not speak its language.
class Stranger {
 public:
  explicit Stranger(bool hangs_up) : port_(free_port()) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    address.sin_port = htons(static_cast<std::uint16_t>(port_.number));
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(socket_.get(), 16), 0);
    process_ = ::fork();  // not a thread: the test forks its ranks later
    if (process_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (hangs_up) {
      const UniqueFd client(::accept(socket_.get(), nullptr, nullptr));
      char greeting[64];
      (void)!::read(client.get(), greeting, sizeof greeting);
    }
    for (;;) ::pause();
  }
  ~Stranger() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  std::string port() const { return std::to_string(port_.number); }

 private:
  UniqueFd socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  FreePort port_;
  pid_t process_ = -1;
};

// torchrun serves a store of its own at MASTER_ADDR:MASTER_PORT, and says so.
TEST(Store, OfTorchrunOnItsPortIsLeftAlone) {
  const Stranger torch(true);
  run_ranks(3, [&](Child& child) {
    ::setenv("MASTER_PORT", torch.port().c_str(), 1);
    ::setenv("TORCHELASTIC_USE_AGENT_STORE", "True", 1);
    const Comm comm, another;
    ASSERT_TRUE(comm && another);
    Call({.count = 100}, child.index, 3).run(another.get());
  });
}

TEST(Store, IsServedBesideAStrangerOnItsPort) {
  for (const bool hangs_up : {true, false}) {
    const Stranger stranger(hangs_up);
    run_ranks(3, [&](Child& child) {
      ::setenv("MASTER_PORT", stranger.port().c_str(), 1);
      const Comm comm;
      ASSERT_TRUE(comm) << hocket_last_error();
      Call({.count = 100}, child.index, 3).run(comm.get());
    });
  }
}

// A store that is a file serves as well as one over TCP.
TEST(Store, InAFileBringsRanksTogether) {
  std::string folder = std::filesystem::temp_directory_path() / "hocket_store_XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string url = "file://" + folder + "/store";
  run_ranks(3, [&](Child& child) {
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.store = url.c_str();
    const Comm comm(&options);
    ASSERT_TRUE(comm);
    Call({.count = 1000}, child.index, child.size).run(comm.get());
  });
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace hocket::process_testing
