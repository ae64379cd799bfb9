#include "tests/process/support/connections.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <system_error>

namespace hocket::process_testing {
namespace {

std::set<std::string> socket_inodes(pid_t process) {
  std::set<std::string> inodes;
  const std::string prefix = "socket:[";
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/fd", error)) {
    const std::string target = std::filesystem::read_symlink(entry.path(), error).string();
    if (target.starts_with(prefix)) inodes.insert(target.substr(prefix.size(), target.size() - prefix.size() - 1));
  }
  return inodes;
}

// Of a socket's end, as getsockname() and getpeername() tell it; nothing where it is no end of a TCP connection.
template <class Tell>
std::optional<int> port_of(int fd, Tell tell) {
  sockaddr_storage address{};
  socklen_t bytes = sizeof address;
  if (tell(fd, reinterpret_cast<sockaddr*>(&address), &bytes) != 0) return std::nullopt;
  if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<sockaddr_in&>(address).sin_port);
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<sockaddr_in6&>(address).sin6_port);
  return std::nullopt;
}

}  // namespace

std::vector<std::string> unix_doors(pid_t process) {
  const auto inodes = socket_inodes(process);
  std::vector<std::string> names;
  std::ifstream file("/proc/net/unix");
  std::string line;
  while (std::getline(file, line)) {
    // number, references, protocol, flags (00010000: listening), type, state, inode, name: proc(5).
    std::istringstream fields(line);
    std::string number, references, protocol, flags, type, state, inode, name;
    fields >> number >> references >> protocol >> flags >> type >> state >> inode >> name;
    if (flags == "00010000" && inodes.contains(inode) && name.starts_with("@")) names.push_back(name.substr(1));
  }
  return names;
}

std::vector<TcpSocket> tcp_sockets(pid_t process) {
  const auto inodes = socket_inodes(process);
  std::vector<TcpSocket> sockets;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(table);
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
      // number, local address:port, remote address:port, state (0A: listening), five more, inode: proc(5).
      std::istringstream fields(line);
      std::string number, local, remote, state, skipped, inode;
      fields >> number >> local >> remote >> state;
      for (int field = 0; field < 5; ++field) fields >> skipped;
      fields >> inode;
      const auto port = [](const std::string& end) { return std::stoi(end.substr(end.find(':') + 1), nullptr, 16); };
      if (inodes.contains(inode)) sockets.push_back({port(local), port(remote), state == "0A"});
    }
  }
  return sockets;
}

std::vector<Connection> connections_beside(int port) {
  std::vector<Connection> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename());
    const auto local = port_of(fd, ::getsockname), remote = port_of(fd, ::getpeername);
    if (local && remote && local != port && remote != port) found.push_back({*local, *remote, fd});
  }
  return found;
}

bool has_other_end(pid_t process, const Connection& connection) {
  return std::ranges::any_of(tcp_sockets(process), [&](const TcpSocket& socket) {
    return !socket.listens && socket.local == connection.remote && socket.remote == connection.local;
  });
}

}  // namespace hocket::process_testing
