// WakeSocket: ends the poll(2) of a process that this one has no connection to: a datagram socket under a name that the
// kernel chooses. Nothing is read from what comes, so a stranger's word does no more than wake somebody in vain.
#pragma once

#include <cstdint>

#include "src/base/fd.hpp"
#include "src/spi/status.hpp"

namespace hocket::shm {

class WakeSocket {
 public:
  // Closed: wakes nobody.
  WakeSocket() = default;
  // Code::out_of_resources.
  static Result<WakeSocket> open();

  // Readable when somebody has called wake(name()).
  int fd() const { return fd_.get(); }
  explicit operator bool() const { return static_cast<bool>(fd_); }
  std::uint64_t name() const { return name_; }
  void wake(std::uint64_t name) const;
  void clear() const;

 private:
  UniqueFd fd_;
  std::uint64_t name_ = 0;  // the bytes of the address
};

}  // namespace hocket::shm
