#include "tools/launch.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string_view>

#include "src/spi/types.hpp"
#include "tools/launch_cores.hpp"
#include "tools/launch_process.hpp"
#include "tools/launch_relays.hpp"
#include "tools/signals.hpp"

namespace hocket::launch {
namespace {

// How long to wait for processes to disappear after SIGKILL: only one that hangs inside the system takes longer.
constexpr std::chrono::seconds after_kill{10};
// How long one who has been told to end waits for a reader that takes nothing.
constexpr std::chrono::milliseconds reader_patience{500};
constexpr int exit_output = 2;  // where the ranks' output cannot be written
// How often to look for the end of processes that are nobody's children here.
constexpr int poll_ms_max = 200;

struct Member {
  pid_t pid = -1;           // also the number of its process group
  bool running = true;      // the rank itself
  bool group_alive = true;  // it, or something that it started
};

std::string ranks_text(int count) {
  return fmt::format("{} rank{}", count, count == 1 ? "" : "s");
}

class Launch {
 public:
  explicit Launch(const Options& options) : options_(options) {}

  int run() {
    prctl(PR_SET_CHILD_SUBREAPER, 1);  // what ranks leave behind becomes our child, so that its end is noticed
    if (const Status started = start_all(); !started) {
      say(started.message());
      status_ = started.code() == Code::not_found ? 127 : 126;
      end_all(SIGKILL);
    }
    while (count_groups() > 0 && !gave_up()) {
      wait_for_events();
      handle_signals();
      relay_output();
      refresh_groups();
      if (count_running() == 0) end_leftovers();
      if (ending_ && !killed_ && ending_->passed()) kill_all();
    }
    relay_rest();
    relays_.finish();
    relay_rest();
    return status_.value_or(0);
  }

 private:
  void say(const std::string& sentence) { relays_.say(fmt::format("{}: {}", options_.caller, sentence)); }

  Status start_all() {
    const Result<std::uint16_t> port = free_port();
    if (!port) return port.status();
    const auto cores = cores_for(options_.ranks, options_.binding);
    if (!cores) return cores.status();
    const std::string secret = secret_for_ranks();
    for (int rank = 0; rank < options_.ranks; ++rank) {
      RankEnvironment environment{.rank = rank, .ranks = options_.ranks, .port = *port, .secret = secret};
      if (!cores->empty()) environment.cores = &(*cores)[static_cast<std::size_t>(rank)];
      if (const Status started = start(environment); !started) return started;
    }
    return {};
  }

  Status start(const RankEnvironment& environment) {
    const int rank = environment.rank;
    Streams streams;
    UniqueFd output, error;
    if (options_.input_to_rank_0 && rank == 0) streams.input = STDIN_FILENO;
    if (const Status made = relays_.add(label_of(rank), false, &output); !made) return made;
    streams.output = output.get();
    if (options_.output != Output::progress) {
      if (const Status made = relays_.add(label_of(rank), true, &error); !made) return made;
      streams.error = error.get();
    }
    const Result<pid_t> pid = start_rank(options_.command, environment, streams);
    if (!pid) return pid.status();
    members_.push_back({.pid = *pid});
    guard_.add(*pid);
    return {};
  }

  std::string label_of(int rank) const { return options_.output == Output::labelled ? fmt::format("[{}] ", rank) : ""; }

  void wait_for_events() {
    std::vector<pollfd> watched{{signals_.fd(), POLLIN, 0}};
    relays_.watch(watched, interrupted());
    poll(watched.data(), watched.size(), ending_ || count_running() == 0 ? poll_ms_max : -1);
  }

  void handle_signals() {
    while (const int number = signals_.next()) {
      if (number == SIGCHLD) {
        reap();
      } else {
        interrupt(number);
      }
    }
  }

  // The first signal is forwarded and the ranks may end in peace; a second one means that somebody is impatient.
  void interrupt(int number) {
    if (++interrupts_ > 1) return kill_all();
    if (!status_) {
      const int ranks = count_running();
      say(fmt::format("stopped by signal {} ({}){}.", number, strsignal(number),
                      ranks == 0 ? "" : "; ending " + ranks_text(ranks)));
      status_ = 128 + number;
    }
    end_all(options_.only_sigterm ? SIGTERM : number);
  }

  void reap() {
    struct Ended {
      int rank;
      int wait_status;
    };
    std::optional<Ended> failed;
    int wait_status = 0;
    for (pid_t pid; (pid = waitpid(-1, &wait_status, WNOHANG)) > 0;) {
      const auto member = std::ranges::find(members_, pid, &Member::pid);
      if (member == members_.end()) continue;  // something that a rank left behind
      member->running = false;
      if (wait_status == 0) continue;
      // Of ranks that ended in one instant, a killed one is the cause and the others the effect.
      const bool likelier = WIFSIGNALED(wait_status) && (!failed || WIFEXITED(failed->wait_status));
      if (!failed || likelier) failed = {static_cast<int>(member - members_.begin()), wait_status};
    }
    if (failed && !status_) report_failure(failed->rank, failed->wait_status);
  }

  void report_failure(int rank, int wait_status) {
    std::string how;
    if (WIFSIGNALED(wait_status)) {
      const int number = WTERMSIG(wait_status);
      status_ = 128 + number;
      how = fmt::format("rank {} was killed by signal {} ({})", rank, number, strsignal(number));
    } else {
      status_ = WEXITSTATUS(wait_status);
      how = fmt::format("rank {} exited with status {}", rank, *status_);
    }
    relay_output();  // what it said last belongs before this
    const int others = count_running();
    say(others == 0 ? how + "." : fmt::format("{}; ending the other {}.", how, others));
    end_all(SIGTERM);
  }

  // Sends `number` to all groups, once, and lets the time of grace begin.
  void end_all(int number) {
    if (ending_) return;
    ending_ = Deadline::after(options_.grace);
    signal_groups(number);
  }

  // What the ranks have started may have ignored the signal that the ranks were sent.
  void end_leftovers() {
    if (leftovers_ended_) return;
    leftovers_ended_ = true;
    if (!ending_) ending_ = Deadline::after(options_.grace);
    signal_groups(SIGTERM);
  }

  void kill_all() {
    if (killed_) return;
    if (count_running() > 0 && !interrupted()) {
      say(fmt::format("{} did not end within {} s of SIGTERM; now killed.", ranks_text(count_running()),
                      static_cast<double>(options_.grace.count()) / 1000));
    }
    killed_ = Deadline::after(after_kill);
    signal_groups(SIGKILL);
  }

  void signal_groups(int number) {
    for (const Member& member : members_) {
      if (member.group_alive) kill(-member.pid, number);
    }
  }

  void refresh_groups() {
    for (Member& member : members_) {
      if (member.running || !member.group_alive) continue;
      if (kill(-member.pid, 0) == 0 || errno != ESRCH) continue;
      member.group_alive = false;
      guard_.remove(member.pid);
    }
  }

  void relay_output() {
    if (!relays_.relay(interrupted())) output_closed(errno);
  }

  // Passes on what the ranks said before they ended. Who has been told to end waits only for one who reads.
  void relay_rest() {
    std::size_t taken = relays_.taken();
    Deadline patience = Deadline::after(reader_patience);
    for (bool all = false; !all;) {
      all = relays_.empty();
      relay_output();
      all = all && relays_.empty();
      if (all || interrupts_ > 1) return;
      if (relays_.taken() != taken || !interrupted()) patience = Deadline::after(reader_patience);
      if (patience.passed()) return;
      taken = relays_.taken();
      if (relays_.empty()) continue;
      wait_for_events();
      handle_signals();
    }
  }

  // Nobody reads there any more, or the disk is full. Ranks end before they notice.
  void output_closed(int error) {
    if (!status_) {
      status_ = error == EPIPE ? 128 + SIGPIPE : exit_output;
      if (error != EPIPE) say(fmt::format("Cannot write the ranks' output: {}.", strerror(error)));
    }
    end_all(SIGTERM);
  }

  bool interrupted() const { return interrupts_ > 0; }
  int count_running() const { return static_cast<int>(std::ranges::count(members_, true, &Member::running)); }
  int count_groups() const { return static_cast<int>(std::ranges::count(members_, true, &Member::group_alive)); }
  bool gave_up() const { return killed_ && killed_->passed(); }

  const Options& options_;
  Signals signals_;
  Guard guard_;
  std::vector<Member> members_;  // by rank
  Relays relays_;
  std::optional<int> status_;       // set by whatever went wrong first
  std::optional<Deadline> ending_;  // SIGTERM was sent; SIGKILL follows when this passes
  std::optional<Deadline> killed_;  // SIGKILL was sent
  int interrupts_ = 0;              // signals that asked to end
  bool leftovers_ended_ = false;
};

}  // namespace

std::vector<std::string> own_command(int argc, const char* const* argv) {
  std::vector<std::string> command = {std::filesystem::read_symlink("/proc/self/exe")};
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--ranks") {
      ++i;  // its value
    } else if (!argument.starts_with("--ranks=")) {
      command.emplace_back(argument);
    }
  }
  return command;
}

int run(const Options& options) {
  return Launch(options).run();
}

}  // namespace hocket::launch
