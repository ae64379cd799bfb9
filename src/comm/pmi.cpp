// The process's end of PMI version 1, as MPICH's hydra and Slurm's plugin pmi2 speak it: lines of words "name=value",
// each question answered by one line.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "src/base/environment.hpp"
#include "src/base/fd.hpp"
#include "src/base/printable.hpp"
#include "src/comm/key_space.hpp"

namespace hocket::comm {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t line_bytes_max = 8192;
constexpr std::size_t word_bytes_max = 64;  // of an answer, in a message
constexpr int look_up_every_ms = 50;        // at the request to stop
constexpr auto pmi_farewell = 2s;

std::string error_text(std::string_view what, int error) {
  return fmt::format("the launcher's PMI does not work: {}: {}", what, std::system_category().message(error));
}

// The value of a word of the line; nothing where there is none of that name.
std::optional<std::string_view> value_of(std::string_view line, std::string_view name) {
  while (!line.empty()) {
    const std::string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(line.size(), word.size() + 1));
    if (word.size() > name.size() && word.starts_with(name) && word[name.size()] == '=') {
      return word.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

// Without the other words, of which one may be the job's secret.
std::string refusal(const std::string& question, std::optional<std::string_view> said,
                    std::optional<std::string_view> rc) {
  const auto word = [](std::string_view name, std::optional<std::string_view> value) {
    return value ? fmt::format("{}={}", name, printable(*value, word_bytes_max)) : fmt::format("no {}", name);
  };
  return fmt::format(
      "the launcher's PMI answers \"{}\" with {} and {}; set MASTER_ADDR, MASTER_PORT and HOCKET_SECRET "
      "instead",
      question.substr(0, question.find(' ')), word("cmd", said), word("rc", rc));
}

// The launcher ends a job as failed when a process ends that has spoken and has not taken its leave, and takes no
// more words after that. MPI_Init may want to speak later, so leave is taken when the process exits. MPI_Finalize may
// have done so by then; the launcher does not listen any more in that case.
class Connection {
 public:
  explicit Connection(UniqueFd socket) : socket_(std::move(socket)) {}
  ~Connection() {
    if (::getpid() != owner_) return;  // a forked child
    try {
      (void)ask("cmd=finalize", "finalize_ack", Deadline::after(pmi_farewell), std::stop_token());
    } catch (const std::bad_alloc&) {  // then the launcher counts the process as failed
    }
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // The line that answers, which must be of that kind and bring no error.
  Result<std::string> ask(const std::string& question, std::string_view kind, Deadline deadline,
                          const std::stop_token& stop) {
    const std::string line = question + '\n';
    if (::send(socket_.get(), line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size())) {
      return Status(Code::store_unreachable, error_text("send", errno));
    }
    auto answer = read_line(deadline, stop);
    if (!answer.ok()) return answer;
    const auto said = value_of(*answer, "cmd"), rc = value_of(*answer, "rc");
    if (said == kind && rc.value_or("0") == "0") return answer;
    return Status(Code::protocol_error, refusal(question, said, rc));
  }

 private:
  Result<std::string> read_line(Deadline deadline, const std::stop_token& stop);

  UniqueFd socket_;
  const pid_t owner_ = ::getpid();
};

// Byte by byte, so that nothing is taken that MPI should read.
Result<std::string> Connection::read_line(Deadline deadline, const std::stop_token& stop) {
  std::string line;
  while (line.size() < line_bytes_max) {
    pollfd entry{socket_.get(), POLLIN, 0};
    const int ready = ::poll(&entry, 1, std::min(deadline.remaining_ms(), look_up_every_ms));
    if (ready < 0 && errno != EINTR) return Status(Code::store_unreachable, error_text("poll", errno));
    if (stop.stop_requested()) return Status(Code::aborted, "the creation was given up");
    if (ready <= 0) {
      if (deadline.passed()) return Status(Code::timeout, "the launcher's PMI does not answer in time");
      continue;
    }
    char next = 0;
    const ssize_t got = ::recv(socket_.get(), &next, 1, 0);
    if (got < 0) return Status(Code::store_unreachable, error_text("recv", errno));
    if (got == 0)
      return Status(Code::store_unreachable,
                    "the launcher has closed its PMI: MPI_Finalize was called, "
                    "or it has ended");
    if (next == '\n') return line;
    line += next;
  }
  return Status(Code::protocol_error, "what PMI_FD names is no launcher's PMI: it sends a line that does not end");
}

// A copy of the launcher's descriptor, so that it stays when MPI closes its own. Only a Unix socket is taken for one.
Result<UniqueFd> launchers_socket() {
  const auto variable = environment::find({"PMI_FD"});
  if (!variable) return Status(Code::invalid_environment, "PMI_FD is not set");
  const auto number = environment::to_integer(*variable, 0, INT32_MAX);
  if (!number.ok()) return number.status();
  UniqueFd own(::fcntl(static_cast<int>(*number), F_DUPFD_CLOEXEC, 0));
  int domain = 0;
  socklen_t bytes = sizeof domain;
  if (own && ::getsockopt(own.get(), SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 && domain == AF_UNIX) return own;
  return Status(Code::invalid_environment,
                fmt::format("PMI_FD is {}, which is not the launcher's socket in this process: what stands between the "
                            "launcher and this program must keep it open; or MPI_Finalize has closed it. Set "
                            "MASTER_ADDR, MASTER_PORT and HOCKET_SECRET instead",
                            variable->value));
}

constexpr char key[] = "hocket-meeting-point";

// The name of the launch's space, which every question about a key must give.
Result<std::string> greet(Connection& launcher, Deadline deadline, const std::stop_token& stop) {
  const auto version = launcher.ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init", deadline, stop);
  if (!version.ok()) return version;
  const auto space = launcher.ask("cmd=get_my_kvsname", "my_kvsname", deadline, stop);
  if (!space.ok()) return space;
  return std::string(value_of(*space, "kvsname").value_or(""));
}

}  // namespace

Result<std::string> tell_all_by_pmi(Rank rank, const std::string& words, Deadline deadline,
                                    const std::stop_token& stop) {
  auto socket = launchers_socket();
  if (!socket.ok()) return socket.status();
  static Connection launcher(std::move(*socket));  // until the process exits
  const auto space = greet(launcher, deadline, stop);
  if (!space.ok()) return space;
  if (rank == 0) {
    const auto put = launcher.ask(fmt::format("cmd=put kvsname={} key={} value={}", *space, key, words), "put_result",
                                  deadline, stop);
    if (!put.ok()) return put;
  }
  const auto met = launcher.ask("cmd=barrier_in", "barrier_out", deadline, stop);
  if (met.status().code() == Code::timeout) return others_missing("barrier (PMI)");
  if (!met.ok()) return met;
  const auto got = launcher.ask(fmt::format("cmd=get kvsname={} key={}", *space, key), "get_result", deadline, stop);
  if (!got.ok()) return got;
  return std::string(value_of(*got, "value").value_or(""));
}

}  // namespace hocket::comm
