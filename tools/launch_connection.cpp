#include "tools/launch_connection.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "src/base/printable.hpp"
#include "tools/launch_process.hpp"

namespace hocket::launch {
namespace {

constexpr int reads_max = 16;
constexpr std::size_t errors_max = 4096;

// Makes a pipe. This process's end never waits.
Status make_pipe(UniqueFd& read_end, UniqueFd& write_end, bool reads_here) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return {Code::out_of_resources,
            fmt::format("Cannot make a pipe for a host: {}; raise the limit (ulimit -n).", std::strerror(errno))};
  }
  read_end = UniqueFd(ends[0]);
  write_end = UniqueFd(ends[1]);
  ::fcntl(ends[reads_here ? 0 : 1], F_SETFL, O_NONBLOCK);
  return {};
}

}  // namespace

Result<Connection> Connection::start(const std::vector<std::string>& command) {
  Connection made;
  UniqueFd input, output, error;
  Status status = make_pipe(input, made.input_, false);
  if (status) status = make_pipe(made.from_, output, true);
  if (status) status = make_pipe(made.error_, error, true);
  if (!status) return status;
  const auto pid = start_process(command, {.input = input.get(), .output = output.get(), .error = error.get()},
                                 {.variables = own_variables()});
  if (!pid) return pid.status();
  made.pid_ = *pid;
  made.to_.emplace(made.input_.get());
  return made;
}

void Connection::watch(std::vector<pollfd>& watched) const {
  if (from_) watched.push_back({from_.get(), POLLIN, 0});
  if (error_) watched.push_back({error_.get(), POLLIN, 0});
  if (!wait_status_ && !to_->empty()) watched.push_back({to_->fd(), POLLOUT, 0});
}

void Connection::tell(std::string_view bytes) {
  to_->add(bytes);
  flush();
}

void Connection::flush() {
  if (!wait_status_) (void)to_->flush();  // where nobody reads, the process has ended: that is told soon
}

void Connection::read(const std::function<void(std::string_view line)>& take) {
  read_errors();
  char bytes[65536];
  for (int reads = 0; from_ && reads < reads_max; ++reads) {
    const ssize_t got = ::read(from_.get(), bytes, sizeof(bytes));
    if (got < 0 && errno == EINTR) continue;
    // Where it has ended, nothing more comes, even if something that it has left behind holds the pipe.
    if (got == 0 || (got < 0 && wait_status_)) from_.reset();
    if (got <= 0) return;
    std::string_view rest(bytes, static_cast<std::size_t>(got));
    for (std::size_t end; (end = rest.find('\n')) != std::string_view::npos; rest.remove_prefix(end + 1)) {
      pending_.append(rest.substr(0, end));
      take(pending_);
      pending_.clear();
    }
    pending_.append(rest);
  }
}

void Connection::read_errors() {
  char bytes[4096];
  for (int reads = 0; error_ && reads < reads_max; ++reads) {
    const ssize_t got = ::read(error_.get(), bytes, sizeof(bytes));
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) error_.reset();
    if (got <= 0) return;
    errors_.append(bytes, static_cast<std::size_t>(got));
    if (errors_.size() > errors_max) errors_.erase(0, errors_.size() - errors_max);
  }
}

std::string Connection::reason() const {
  constexpr std::size_t lines_max = 2;
  std::vector<std::string> lines;
  for (std::string_view rest = errors_; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find_first_of("\r\n"));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (!line.empty()) lines.push_back(printable(line));
  }
  if (lines.size() > lines_max) lines.erase(lines.begin(), lines.end() - lines_max);
  std::string said = fmt::format("{}", fmt::join(lines, " "));
  if (said.ends_with('.')) said.pop_back();
  if (!said.empty() || !wait_status_) return said;
  if (WIFSIGNALED(*wait_status_)) return fmt::format("its connection was ended by signal {}", WTERMSIG(*wait_status_));
  return fmt::format("its connection ended with status {}", WEXITSTATUS(*wait_status_));
}

}  // namespace hocket::launch
