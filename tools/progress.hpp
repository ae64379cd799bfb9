// Tells a waiting person what a program is doing: one line that is overwritten on a terminal, else a line now and
// then.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace hocket {

// Writes to standard error. Cheap to call often.
class Progress {
 public:
  Progress();

  // "allreduce 64M in place": begins every line from now on.
  void set_subject(std::string subject) { subject_ = std::move(subject); }
  // `total` 0: not known.
  void show(const char* phase, std::size_t done, std::size_t total);
  // Takes the line away, before something else is printed.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  bool terminal_;
  bool shown_ = false;
  Clock::duration pause_;
  Clock::time_point next_;
  std::string subject_;
};

}  // namespace hocket
