// How a launcher writes what its ranks say.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "src/base/fd.hpp"

namespace hocket::launch {

// An output of this process. Writing never waits: what there is no room for is kept, and goes out later.
class Outlet {
 public:
  explicit Outlet(int fd);

  void add(std::string_view bytes) { kept_ += bytes; }
  // Writes what there is room for. False, with the reason in errno, when nothing can be written there any more.
  bool flush();
  std::size_t kept() const { return kept_.size() - written_; }
  bool empty() const { return kept() == 0; }
  // So much is kept that no more is to be added.
  bool full() const { return kept() >= bytes_max; }
  int fd() const { return fd_; }

 private:
  static constexpr std::size_t bytes_max = std::size_t{1} << 20;

  ssize_t write_some() const;

  UniqueFd own_;  // the same pipe or terminal, opened for this process alone so that it need not wait there
  int fd_;
  std::string kept_;
  std::size_t written_ = 0;  // of what is kept
};

// While this lives, a closed output shows as EPIPE.
class NoPipeSignal {
 public:
  NoPipeSignal();
  ~NoPipeSignal();
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  void (*before_)(int);
};

}  // namespace hocket::launch
