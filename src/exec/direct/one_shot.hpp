// The one-shot path: everyone's data is small and lies in its announcement or staging area, so each member combines
// what it needs itself, and nobody waits for anybody again.
#pragma once

#include "src/exec/counters.hpp"
#include "src/exec/direct/direct_run.hpp"

namespace hocket {

class OneShotPath {
 public:
  explicit OneShotPath(DirectRun& run) : run_(run) {}

  bool advance(Counters& counters);
  bool done() const { return done_; }
  bool has_done_its_part(std::uint32_t) const { return true; }

 private:
  void move(const Part& part);

  DirectRun& run_;
  bool done_ = false;
};

}  // namespace hocket
