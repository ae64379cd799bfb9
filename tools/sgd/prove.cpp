#include "tools/sgd/prove.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "tools/launch.hpp"
#include "tools/progress.hpp"
#include "tools/sgd/page.hpp"
#include "tools/sgd/problem.hpp"
#include "tools/sgd/proof.hpp"
#include "tools/sgd/report.hpp"

namespace hocket::sgd {
namespace {

namespace fs = std::filesystem;

constexpr int no_hosts_here = 77;  // test-hosts' exit status where this machine or user cannot have any

struct Ended {
  int status = 0;
  std::string said;  // on standard error
};

// Runs a program to its end.
Ended run_program(std::vector<std::string> arguments) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw Problem(fmt::format("No pipe: {}.", std::strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  pid_t process = 0;
  const int failed = ::posix_spawnp(&process, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  Ended ended;
  char piece[4096];
  for (ssize_t got = 0; failed == 0 && (got = ::read(ends[0], piece, sizeof(piece))) > 0;) {
    ended.said.append(piece, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  if (failed != 0) throw Problem(fmt::format("Cannot start {}: {}.", arguments[0], std::strerror(failed)));
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  while (!ended.said.empty() && ended.said.back() == '\n') ended.said.pop_back();
  return ended;
}

fs::path this_program() {
  return fs::read_symlink("/proc/self/exe");
}

// Empty where there is none.
std::string find_test_hosts(const Proof& proof) {
  if (!proof.test_hosts.empty()) {
    if (!fs::exists(proof.test_hosts)) throw Problem(fmt::format("--test-hosts: there is no {}.", proof.test_hosts));
    return fs::absolute(proof.test_hosts).string();
  }
  const fs::path built = this_program().parent_path() / "../../../tools/test-hosts";  // from build/PRESET/bin
  return fs::exists(built) ? fs::canonical(built).string() : "";
}

// Where the ranks run.
struct Ground {
  std::vector<std::string> prefix;  // of each rank's command
  std::string described;
};

// The hosts end with this process.
Ground make_ground(const Proof& proof) {
  const std::string this_machine = "TCP on this machine's loopback, whose speed is that of its processor cores";
  if (proof.links == Links::loopback) return {{}, this_machine};
  const std::string program = find_test_hosts(proof);
  std::string why = "tools/test-hosts is not there; --test-hosts says where it is";
  if (!program.empty()) {
    const std::string name = fmt::format("prove-{}", ::getpid());
    const Ended made = run_program({program, "make", name, "--hosts", fmt::to_string(proof.ranks),
                                    fmt::format("--rate={}", proof.rate), "--owner", fmt::to_string(::getpid())});
    if (made.status == 0) {
      return {{program, "rank", "--per-host", "1", name},
              fmt::format("{} network namespaces, each with a link of {} both ways to one switch", proof.ranks,
                          proof.rate)};
    }
    if (made.status != no_hosts_here) throw Problem(made.said);
    why = made.said;
  }
  if (proof.links == Links::shaped) throw Problem(fmt::format("There can be no shaped links: {}.", why));
  return {{}, fmt::format("{} (no shaped links: {})", this_machine, why)};
}

}  // namespace

int start_proof(const Proof& proof, int argc, char** argv) {
  const Ground ground = make_ground(proof);
  launch::Options launch;
  launch.caller = "hocket-sgd";
  launch.ranks = proof.ranks;
  launch.output = launch::Output::inherited;
  launch.command = ground.prefix;
  launch.command.push_back(this_program().string());
  launch.command.insert(launch.command.end(), argv + 1, argv + argc);
  launch.command.insert(launch.command.end(), {"--described", ground.described});
  return launch::run(launch);
}

int run_proof(const Options& options, Communicator& world) {
  if (world.size() < options.proof->ranks) {
    throw Problem(fmt::format("--ranks {} needs as many ranks, but the launcher has started {}.", options.proof->ranks,
                              world.size()));
  }
  Progress progress;
  const Proven proven = prove(options, world, [&](const std::string& what) {
    progress.set_subject("proof");
    progress.show(what.c_str(), 0, 0);
  });
  int status = 0;
  if (world.rank() == 0) {
    progress.clear();
    if (options.json_file != "-") print(proven);
    if (!options.html_file.empty()) write_file(options.html_file, page(proven));
    if (!options.json_file.empty()) write_file(options.json_file, to_json(proven));
    status = proven.holds() ? 0 : exit_failed;
  }
  world.barrier();
  return status;
}

}  // namespace hocket::sgd
