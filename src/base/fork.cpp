#include "src/base/fork.hpp"

#include <fcntl.h>
#include <pthread.h>
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

  // Numbers stay taken: who still holds one closes it in the end. Calls nothing that a child of a process with threads
  // may not call.
  void drop_in_child() {
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const Kept& kept : sockets_) {
      struct stat now {};
      if (nothing < 0 || ::fstat(kept.fd, &now) != 0) continue;
      if (S_ISSOCK(now.st_mode) && now.st_ino == kept.inode) ::dup3(nothing, kept.fd, O_CLOEXEC);
    }
    if (nothing >= 0) ::close(nothing);
    sockets_.clear();
    mutex_.unlock();
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
