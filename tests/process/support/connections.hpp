// Sockets of processes: TCP connections, to break them, and doors.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace hocket::process_testing {

// By its ports.
struct Connection {
  int local = 0, remote = 0;
  int descriptor = -1;  // of the process that has it
};
// Those of this process, but from and to this port, which is the store's.
std::vector<Connection> connections_beside(int port);

struct TcpSocket {
  int local = 0, remote = 0;
  bool listens = false;
};
std::vector<TcpSocket> tcp_sockets(pid_t process);
// Names of the Unix sockets at which a process listens.
std::vector<std::string> unix_doors(pid_t process);
// Whether the process has the other end.
bool has_other_end(pid_t process, const Connection& connection);

}  // namespace hocket::process_testing
