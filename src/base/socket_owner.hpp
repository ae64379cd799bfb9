// Whose process is at the other end of a TCP connection, as far as the kernel tells.
#pragma once

namespace hocket {

enum class PeerOwner {
  own,           // this process's user, or root, on this host and in its network namespace
  another_user,  // on this host
  another_host,  // or another network namespace
  unknown,       // no descriptor or memory was left to ask the kernel
};

// Of a connected TCP socket. A kernel that does not tell the user (sock_diag(7)) counts as one that names this one's. A
// socket that its process has not accepted yet, or has closed, is nobody's, and so counts as another user's; so does
// one that is not connected any more.
PeerOwner owner_of_peer(int socket);

}  // namespace hocket
