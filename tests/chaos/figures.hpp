// What a run tells about itself on standard output, for tools/soak, which sums up many.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "tests/chaos/plan.hpp"

namespace hocket::chaos {

// Each line: "fault", then what was done; or "took", what was done, what it was followed by and milliseconds. Between
// tabs.
class Figures {
 public:
  explicit Figures(const Plan& plan) : plan_(plan) {}

  void count(Fault fault) const {
    std::printf("\nfault\t%s\t%s\t%s\n", name_of(fault), plan_.links(), name_of(plan_.style));
  }
  // `what`: detection or recovery.
  void add(const char* fault, const char* what, std::int64_t nanoseconds) const {
    std::printf("\ntook\t%s\t%s\t%s\t%s\t%.3f\n", fault, plan_.links(), name_of(plan_.style), what,
                static_cast<double>(std::max<std::int64_t>(nanoseconds, 0)) / 1e6);
  }

 private:
  const Plan& plan_;
};

}  // namespace hocket::chaos
