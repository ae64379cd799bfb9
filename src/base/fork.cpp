#include "src/base/fork.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <vector>

namespace hocket {
namespace {

// A socket is told from a later one with its number by its inode, so that nobody must say when it is closed.
struct Kept {
  int fd;
  ino_t inode;
};

// Of the whole process, as pthread_atfork(3) is.
class KeptSockets {
 public:
  static KeptSockets& instance() {
    static auto& sockets = *new KeptSockets();  // never destroyed: a process may fork while it exits
    return sockets;
  }

  void add(int fd, ino_t inode) {
    const std::lock_guard lock(mutex_);
    const auto same = std::ranges::find(sockets_, fd, &Kept::fd);
    if (same != sockets_.end()) {
      same->inode = inode;
    } else {
      sockets_.push_back({fd, inode});
    }
  }

 private:
  KeptSockets() {
    ::pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                     [] { instance().drop_in_child(); });
  }

  // Calls nothing that a child of a process with threads may not call.
  void drop_in_child() {
    for (const Kept& kept : sockets_) {
      struct stat now {};
      if (::fstat(kept.fd, &now) == 0 && S_ISSOCK(now.st_mode) && now.st_ino == kept.inode) replace(kept.fd);
    }
    sockets_.clear();
    mutex_.unlock();
  }

  // Its number stays taken: who still holds it closes it in the end. Whatever happens the socket does not stay, as its
  // parent's would suffer from what a child does with it.
  static void replace(int socket) {
    int nothing = open_nothing();
    if (nothing < 0) {  // no descriptor is left: this one's place will do
      ::close(socket);
      nothing = open_nothing();
    }
    if (nothing < 0 || nothing == socket) return;
    if (::dup3(nothing, socket, O_CLOEXEC) < 0) ::close(socket);
    ::close(nothing);
  }

  static int open_nothing() {
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing >= 0) return nothing;
    return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);  // where there are no device files
  }

  std::mutex mutex_;
  std::vector<Kept> sockets_;
};

}  // namespace

void keep_from_children(int socket) {
  struct stat file {};
  if (::fstat(socket, &file) == 0 && S_ISSOCK(file.st_mode)) KeptSockets::instance().add(socket, file.st_ino);
}

}  // namespace hocket
