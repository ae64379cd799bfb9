#include "tools/launch_agent_input.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>

namespace hocket::launch {

bool AgentInput::read_some() {
  pollfd ready{fd_, POLLIN, 0};
  if (closed_ || ::poll(&ready, 1, 0) <= 0) return false;
  char bytes[4096];
  const ssize_t got = ::read(fd_, bytes, sizeof(bytes));
  if (got < 0 && errno == EINTR) return true;
  closed_ = got <= 0;
  if (closed_) return false;
  pending_.append(bytes, static_cast<std::size_t>(got));
  heard_ = Deadline::after({});
  return true;
}

std::optional<std::string> AgentInput::take_line() {
  const std::size_t end = pending_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = pending_.substr(0, end);
  pending_.erase(0, end + 1);
  return line;
}

Result<std::string> AgentInput::job() {
  constexpr std::string_view key = "job ";
  std::optional<std::size_t> bytes;
  while (!bytes || pending_.size() < *bytes) {
    if (!bytes) {
      const auto line = take_line();
      if (line && line->starts_with(key)) bytes = std::strtoull(line->c_str() + key.size(), nullptr, 10);
      if (line) continue;
    }
    if (read_some()) continue;
    if (closed_ || wait_ms() == 0) return Status(Code::peer_lost, "The launch has ended before it sent a job.");
    pollfd ready{fd_, POLLIN, 0};
    ::poll(&ready, 1, wait_ms());
  }
  std::string message = pending_.substr(0, *bytes);
  pending_.erase(0, *bytes);
  return message;
}

std::optional<Order> AgentInput::next() {
  while (!lost_) {
    while (const auto line = take_line()) {
      if (line->starts_with("end ")) return Order{Order::What::end, std::atoi(line->c_str() + 4)};
      if (*line == "kill") return Order{Order::What::kill};
      if (*line == "pause") return Order{Order::What::pause};
      if (*line == "go on") return Order{Order::What::go_on};
    }
    if (read_some()) continue;
    lost_ = closed_ || wait_ms() == 0;
    if (lost_) return Order{Order::What::lost};
    break;
  }
  return std::nullopt;
}

}  // namespace hocket::launch
