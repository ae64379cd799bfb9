#include "tools/sgd/prove.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "tools/child.hpp"
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

fs::path this_program() {
  return fs::read_symlink("/proc/self/exe");
}

// Empty where there is none.
std::string find_test_hosts(const Proof& proof) {
  if (!proof.test_hosts.empty()) {
    if (!fs::exists(proof.test_hosts)) throw Problem(fmt::format("--test-hosts: there is no {}.", proof.test_hosts));
    return fs::absolute(proof.test_hosts).string();
  }
  // Installed beside PREFIX/bin; in the source tree, from build/PRESET/bin.
  for (const char* place : {"../libexec/hocket/test-hosts", "../../../tools/test-hosts"}) {
    const fs::path program = this_program().parent_path() / place;
    if (fs::exists(program)) return fs::canonical(program).string();
  }
  return "";
}

// Where the ranks run.
struct Ground {
  std::vector<std::string> prefix;  // of each rank's command
  std::string described;
  int interrupted = 0;  // by this signal; then there is no ground
};

// The hosts end with this process.
Ground make_ground(const Proof& proof) {
  const std::string this_machine = "TCP on this machine's loopback, whose speed is that of its processor cores";
  if (proof.links == Links::loopback) return {{}, this_machine, 0};
  const std::string program = find_test_hosts(proof);
  std::string why = "tools/test-hosts is not there; --test-hosts says where it is";
  if (!program.empty()) {
    const std::string name = fmt::format("prove-{}", ::getpid());
    const auto ran = launch::run_program({program, "make", name, "--hosts", fmt::to_string(proof.ranks),
                                          fmt::format("--rate={}", proof.rate), "--owner", fmt::to_string(::getpid())});
    if (!ran) throw Problem(ran.status().message());
    const launch::Ended& made = *ran;
    if (made.interrupted != 0) return {{}, {}, made.interrupted};
    if (made.status == 0) {
      return {
          {program, "rank", "--per-host", "1", name},
          fmt::format("{} network namespaces, each with a link of {} both ways to one switch", proof.ranks, proof.rate),
          0};
    }
    if (made.status != no_hosts_here) throw Problem(made.said);
    why = made.said;
  }
  if (proof.links == Links::shaped) throw Problem(fmt::format("There can be no shaped links: {}.", why));
  return {{}, fmt::format("{} (no shaped links: {})", this_machine, why), 0};
}

}  // namespace

int start_proof(const Proof& proof, int argc, char** argv) {
  const Ground ground = make_ground(proof);
  if (ground.interrupted != 0) {
    fmt::print(stderr, "hocket-sgd: stopped by signal {} ({}) while it made the links.\n", ground.interrupted,
               strsignal(ground.interrupted));
    return 128 + ground.interrupted;
  }
  launch::Options launch;
  launch.caller = "hocket-sgd";
  launch.ranks = proof.ranks;
  launch.output = launch::Output::progress;
  launch.only_sigterm = true;  // below test-hosts, a script that would tell of an interrupt at length
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
