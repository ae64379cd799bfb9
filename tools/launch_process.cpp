#include "tools/launch_process.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string_view>

#include "src/base/environment.hpp"
#include "src/base/trust.hpp"

namespace hocket::launch {
namespace {

Status out_of_resources(const char* what) {
  return {Code::out_of_resources, fmt::format("Cannot {}: {}.", what, strerror(errno))};
}

void remove(std::vector<std::string>& variables, std::string_view name) {
  std::erase_if(variables, [&](std::string_view one) { return one.substr(0, one.find('=')) == name; });
}

void set(std::vector<std::string>& variables, std::string_view name, const std::string& value) {
  remove(variables, name);
  variables.push_back(fmt::format("{}={}", name, value));
}

// A newcomer has neither rank nor world size, whoever else has told this process one.
void set_rank(std::vector<std::string>& variables, const RankEnvironment& environment) {
  for (const environment::Known& known : environment::known()) {
    if (known.name != "HOCKET_RANK" && known.name != "HOCKET_WORLD_SIZE") continue;
    remove(variables, known.name);
    for (const char* other : known.instead) {
      if (other != nullptr && environment.role != Role::rank) remove(variables, other);
    }
  }
  remove(variables, "HOCKET_NEWCOMER");
  const Place& place = environment.place;
  if (environment.role == Role::newcomer) {
    set(variables, "HOCKET_NEWCOMER", "on");
  } else {
    const bool founds = environment.role == Role::founder;
    set(variables, "RANK", std::to_string(founds ? 0 : place.first + environment.local_rank));
    set(variables, "WORLD_SIZE", std::to_string(founds ? 1 : place.ranks));
  }
}

std::vector<std::string> variables_of(const RankEnvironment& environment) {
  std::vector<std::string> variables = own_variables();
  const Place& place = environment.place;
  set_rank(variables, environment);
  set(variables, "LOCAL_RANK", std::to_string(environment.local_rank));
  set(variables, "LOCAL_WORLD_SIZE", std::to_string(place.local));
  set(variables, "MASTER_ADDR", place.master_address);
  set(variables, "MASTER_PORT", std::to_string(place.master_port));
  if (!environment.secret.empty()) set(variables, "HOCKET_SECRET", environment.secret);
  if (!environment.preload.empty()) {
    const char* const others = getenv("LD_PRELOAD");
    set(variables, "LD_PRELOAD",
        others == nullptr ? environment.preload : fmt::format("{}:{}", environment.preload, others));
  }
  return variables;
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// The launcher may have blocked or ignored signals; a program starts with the defaults.
void reset_signals() {
  signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

void redirect(int from, int to) {
  if (from >= 0) dup2(from, to);
}

struct Program {
  std::vector<char*> arguments, variables;
};

// Runs in the child, where other threads may have left anything half done: it calls nothing but the system. Returns
// only by writing errno to `failure`.
[[noreturn]] void become(const Program& program, const Streams& streams, const cpu_set_t* cores, pid_t launcher,
                         int failure) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher) _exit(1);  // it died before the line above
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  redirect(streams.input >= 0 ? streams.input : null, STDIN_FILENO);
  redirect(streams.output, STDOUT_FILENO);
  redirect(streams.error, STDERR_FILENO);
  if (cores != nullptr) sched_setaffinity(0, sizeof *cores, cores);
  reset_signals();
  execvpe(program.arguments[0], program.arguments.data(), program.variables.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(failure, &error, sizeof(error));
  _exit(127);
}

Status cannot_start(const std::string& program, int error) {
  if (error == ENOENT) {
    const char* where = program.find('/') == std::string::npos ? "in PATH" : "there";
    return {Code::not_found, fmt::format("Cannot start '{}': there is no such program {}.", program, where)};
  }
  if (error == EACCES) {
    return {Code::invalid_argument, fmt::format("Cannot start '{}': it is not an executable file.", program)};
  }
  return {Code::invalid_argument, fmt::format("Cannot start '{}': {}.", program, strerror(error))};
}

// True when the port was free a moment ago. Port 0 asks the system for one, which is stored in *port.
bool try_port(std::uint16_t* port) {
  const UniqueFd socket_fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(*port);
  socklen_t length = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(socket_fd.get(), generic, length) != 0 || getsockname(socket_fd.get(), generic, &length) != 0) return false;
  *port = ntohs(address.sin_port);
  return true;
}

// Reads group ids until the launcher's end of the pipe closes; then kills those that were not taken back.
[[noreturn]] void guard_groups(int pipe) {
  std::vector<pid_t> groups;
  pid_t message = 0;
  while (true) {
    const ssize_t got = read(pipe, &message, sizeof(message));
    if (got < 0 && errno == EINTR) continue;
    if (got != sizeof(message)) break;
    if (message > 0) {
      groups.push_back(message);
    } else {
      std::erase(groups, -message);
    }
  }
  for (const pid_t group : groups) kill(-group, SIGKILL);
  _exit(0);
}

}  // namespace

std::string secret_for_ranks() {
  // A store that stands already would not know a new one.
  const auto set = environment::find({"HOCKET_SECRET", "HOCKET_SECRET_FILE", "HOCKET_INSECURE", "HOCKET_STORE"});
  return set ? "" : random_secret();
}

std::vector<std::string> own_variables() {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) variables.emplace_back(*entry);
  return variables;
}

Result<pid_t> start_rank(const std::vector<std::string>& command, const RankEnvironment& environment,
                         const Streams& streams) {
  return start_process(command, streams, {variables_of(environment), environment.cores});
}

Result<pid_t> start_process(const std::vector<std::string>& command, const Streams& streams,
                            const Surroundings& surroundings) {
  const Program program{pointers_to(command), pointers_to(surroundings.variables)};
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return out_of_resources("make a pipe");
  const UniqueFd failure_read(ends[0]);
  UniqueFd failure_write(ends[1]);
  const pid_t launcher = getpid();
  const pid_t pid = fork();
  if (pid < 0) return out_of_resources("start a process");
  if (pid == 0) become(program, streams, surroundings.cores, launcher, failure_write.get());
  setpgid(pid, pid);  // here too: whichever process comes first, the group exists from now on
  failure_write.reset();
  int error = 0;
  ssize_t got = 0;
  do {
    got = read(failure_read.get(), &error, sizeof(error));  // ends at once when exec succeeds
  } while (got < 0 && errno == EINTR);
  if (got != sizeof(error)) return pid;
  waitpid(pid, nullptr, 0);
  return cannot_start(command.front(), error);
}

Result<std::uint16_t> free_port() {
  // Outgoing connections, and servers that let the system choose, cannot take a port below this range between now and
  // the moment when rank 0 binds it.
  constexpr int lowest = 10000;
  int handed_out_from = 32768;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> handed_out_from;
  if (handed_out_from > lowest + 1000) {
    std::random_device random;
    std::uniform_int_distribution<int> choose(lowest, handed_out_from - 1);
    for (int attempt = 0; attempt < 100; ++attempt) {
      auto port = static_cast<std::uint16_t>(choose(random));
      if (try_port(&port)) return port;
    }
  }
  std::uint16_t port = 0;
  if (!try_port(&port)) return out_of_resources("find a free TCP port on 127.0.0.1 for MASTER_PORT");
  return port;
}

Guard::Guard() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  UniqueFd read_end(ends[0]);
  pipe_ = UniqueFd(ends[1]);
  pid_ = fork();
  if (pid_ != 0) return;
  setpgid(0, 0);  // a Ctrl-C at the terminal is not meant for it
  prctl(PR_SET_NAME, "hocket-guard");
  const int kept = dup2(read_end.get(), STDIN_FILENO);
  close_range(STDIN_FILENO + 1, ~0u, 0);
  guard_groups(kept);
}

Guard::~Guard() {
  pipe_.reset();
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

void Guard::tell(pid_t message) {
  if (pid_ <= 0) return;
  [[maybe_unused]] const ssize_t written = write(pipe_.get(), &message, sizeof(message));
}

}  // namespace hocket::launch
