// What must not happen when a process may not share memory, runs into a limit, forks, or dies.
#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <fstream>
#include <thread>

#include "tests/process/support/address_space.hpp"
#include "tests/process/support/resource_limit.hpp"
#include "tests/unit/transports/shm_ranks.hpp"
#include "transports/shm/handshake.hpp"
#include "transports/shm/shared_memory.hpp"

namespace hocket::shm {
namespace {

using process_testing::ResourceLimit;
using ::testing::HasSubstr;

// Runs `body` in a process of its own, so that it may spoil that. It passes if no expectation fails there.
void in_a_process(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    std::fflush(nullptr);
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// What `make_transport` says where it must not succeed.
Status refusal() {
  auto made = make_transport({.rank = 0, .size = 2, .group = 1});
  EXPECT_FALSE(made.ok());
  return made.status();
}

TEST(ShmFaults, WhereMemfdsAreForbiddenItIsUnsupported) {
  in_a_process([] {
    sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{std::size(steps), steps};
    ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
    const Status why = refusal();
    EXPECT_EQ(why.code(), Code::unsupported);
    EXPECT_THAT(why.message(), HasSubstr("Operation not permitted"));
  });
}

TEST(ShmFaults, TinyLimitsAreErrorsAndNeverSignals) {
  {
    const ResourceLimit file_size(RLIMIT_FSIZE, 4096);
    EXPECT_THAT(refusal().message(), HasSubstr("ulimit -f"));
  }
  const int lowest_free = ::dup(0);
  ::close(lowest_free);
  Status why;
  {
    const ResourceLimit descriptors(RLIMIT_NOFILE, static_cast<rlim_t>(lowest_free));
    why = refusal();
  }
  EXPECT_EQ(why.code(), Code::out_of_resources);
}

TEST(ShmFaults, AWindowIsForAllOrForNone) {
  for (const auto resource : {RLIMIT_FSIZE, RLIMIT_AS}) {
    Ranks(3, [&](Party& party, Rank rank) {
      std::optional<ResourceLimit> limit;
      const rlim_t in_use = resource == RLIMIT_AS ? process_testing::address_space_in_use() : 0;
      const Rank limited = resource == RLIMIT_FSIZE ? 0 : 1;  // rank 0 makes the file
      if (rank == limited) limit.emplace(resource, in_use + (rlim_t{1} << 20));
      auto refused = party.open_window(3);
      limit.reset();
      ASSERT_FALSE(refused.ok());
      EXPECT_EQ(refused.status().code(), Code::out_of_resources);
      EXPECT_THAT(refused.status().message(), HasSubstr(resource == RLIMIT_FSIZE ? "ulimit -f" : "ulimit -v"));
      EXPECT_THAT(refused.status().message(), HasSubstr("rank " + std::to_string(limited) + " "));
      EXPECT_TRUE(party.witness.failed.empty()) << "the links go on";
      auto second = party.open_window(3);
      EXPECT_TRUE(second.ok()) << second.status().message();
      party.transport->shut_down(Status(), generous());
    });
  }
}

TEST(ShmFaults, WindowsOfDifferentMembersAreAMismatch) {
  Ranks(3, [&](Party& party, Rank rank) {
    const std::vector<Rank> all{0, 1, 2}, two{0, 1};
    auto refused = party.open_window(rank == 0 ? two : all);
    ASSERT_FALSE(refused.ok());
    // Rank 0 may be gone before rank 2 has found it.
    EXPECT_TRUE(refused.status().code() == Code::mismatch || rank == 2) << refused.status().message();
    party.transport->shut_down(refused.status(), generous());
  });
}

TEST(ShmFaults, BadMemberListsAreRefused) {
  Ranks(1, [&](Party& party, Rank) {
    for (const auto& members : {std::vector<Rank>{}, {1}, {0, 0}, {0, 1}, {1, 0}, {-1, 0}}) {
      auto refused = party.open_window(members);
      ASSERT_FALSE(refused.ok());
      EXPECT_EQ(refused.status().code(), Code::invalid_argument);
    }
  });
}

TEST(ShmFaults, AMemberThatNeverOpensItsWindowIsNamed) {
  Ranks(2, [&](Party& party, Rank rank) {
    if (rank == 1) {  // connects, and no more
      ASSERT_TRUE(party.transport->connect(0, party.transport->address(), generous()).ok());
      EXPECT_TRUE(party.until([&] { return !party.witness.failed.empty(); }));
      EXPECT_EQ(party.witness.failure.code(), Code::timeout);
      return;
    }
    const std::vector<Rank> members{0, 1};
    auto late = party.open_window(members, Deadline::after(std::chrono::milliseconds(50)));
    ASSERT_FALSE(late.ok());
    EXPECT_EQ(late.status().code(), Code::timeout);
    EXPECT_THAT(late.status().message(), HasSubstr("rank 1"));
    party.transport->shut_down(late.status(), generous());
  });
}

TEST(ShmFaults, AWindowThatIsGivenUpWaitsForNobody) {
  Ranks(2, [&](Party& party, Rank rank) {
    if (rank == 1) {  // connects, and no more
      ASSERT_TRUE(party.transport->connect(0, party.transport->address(), generous()).ok());
      EXPECT_TRUE(party.until([&] { return !party.witness.failed.empty(); }));
      EXPECT_EQ(party.witness.failure.code(), Code::aborted);
      return;
    }
    party.witness.gives_up_with =
        Status(Cause{.code = Code::aborted, .message = "rank 0 has something better to do", .rank = 0, .peer = 0});
    auto given_up = party.open_window(2);
    ASSERT_FALSE(given_up.ok());
    EXPECT_EQ(given_up.status().message(), party.witness.gives_up_with.message());
    party.transport->shut_down(given_up.status(), generous());
  });
}

// More regions than a socket takes at once, while nobody reads: none blocks, and what was located can be mapped.
TEST(ShmFaults, ManyRegionsNeverBlock) {
  Ranks(2, [&](Party& party, Rank rank) {
    auto opened = party.open_window(2);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    Window& window = **opened;
    constexpr std::size_t page = 4096, count = 3000;
    auto& said = window.control_lines(0)[0].words;
    if (rank == 0) {
      auto fd = create_memory("a test", count * page);
      auto memory = map_memory(fd->get(), 0, count * page);
      std::uint64_t located = 0;
      for (std::size_t i = 0; i < count; ++i) {
        std::byte* const at = memory->data() + i * page;
        const auto id = party.regions.add(fd->get(), at, page);
        ASSERT_TRUE(id.ok()) << id.status().message();
        *at = static_cast<std::byte>(*id);
        if (window.locate(at, page).region == *id) ++located;
      }
      EXPECT_GT(located, 0u);
      said[1] = located;
      said[0] = 1;
      EXPECT_TRUE(party.until([&] { return !party.witness.left.empty(); }));
    } else {
      while (said[0] == 0) ::sched_yield();
      std::uint64_t mapped = 0;
      for (std::uint32_t id = 1; id <= count; ++id) {
        const std::byte* const data = window.map(0, {id, 0}, page);
        if (data != nullptr && *data == static_cast<std::byte>(id)) ++mapped;
      }
      EXPECT_GE(mapped, said[1]);
      party.transport->shut_down(Status(), generous());
    }
  });
}

// A child that a rank forked holds copies of its sockets; the rank's death is noticed nevertheless.
TEST(ShmFaults, AForkedChildDoesNotHideItsParentsDeath) {
  int hold[2];
  ASSERT_EQ(::pipe(hold), 0);
  {
    Ranks ranks(2, [&](Party& party, Rank rank) {
      auto opened = party.open_window(2);
      ASSERT_TRUE(opened.ok()) << opened.status().message();
      if (rank == 1) {
        if (::fork() == 0) {
          party.transport->shut_down(Status(), generous());  // must not speak for the parent
          char byte;
          ::close(hold[1]);
          [[maybe_unused]] const auto got = ::read(hold[0], &byte, 1);  // until rank 0 lets go
          ::_exit(0);
        }
        ::kill(::getpid(), SIGKILL);
      }
      EXPECT_TRUE(party.until([&] { return !party.witness.failed.empty() || !party.witness.left.empty(); }));
      EXPECT_EQ(party.witness.failed, std::vector<Rank>{1});
      EXPECT_EQ(party.witness.failure.code(), Code::peer_lost);
    });
    ranks.allow_killed();
  }
  ::close(hold[1]);
  ::close(hold[0]);
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  DIR* const folder = ::opendir("/proc/self/fd");
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

std::size_t lines_with(const char* file, const std::string& text) {
  std::ifstream lines(file);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);) count += line.find(text) != std::string::npos;
  return count;
}

TEST(ShmFaults, NothingIsLeftBehind) {
  const std::size_t before = open_descriptors();
  const std::size_t maps_before = lines_with("/proc/self/maps", "memfd:hocket");
  const std::uint64_t group = fresh_group();
  const auto sockets = [&] {
    return lines_with("/proc/net/unix", name_of(group, 0)) + lines_with("/proc/net/unix", name_of(group, 1));
  };
  {
    Party a(group, 0, 2), b(group, 1, 2);
    Result<std::unique_ptr<Window>> window_a(Status(Code::internal, "not opened"));
    std::thread other([&] { window_a = a.open_window(2); });
    auto window_b = b.open_window(2);
    other.join();
    ASSERT_TRUE(window_a.ok() && window_b.ok());
    auto fd = create_memory("a test", 4096);
    auto memory = map_memory(fd->get(), 0, 4096);
    const auto id = a.regions.add(fd->get(), memory->data(), 4096);
    ASSERT_TRUE(id.ok());
    EXPECT_NE((*window_b)->map(0, (*window_a)->locate(memory->data(), 1), 1), nullptr);
    EXPECT_EQ(sockets(), 3u);  // two that listen, one accepted
    EXPECT_GT(open_descriptors(), before);
  }
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(lines_with("/proc/self/maps", "memfd:hocket"), maps_before);
  EXPECT_EQ(sockets(), 0u);
}

}  // namespace
}  // namespace hocket::shm
