// What ranks call again and again while something happens to one of them.
#pragma once

#include <functional>
#include <iosfwd>
#include <set>
#include <string>
#include <vector>

#include "hocket/hocket.h"

namespace hocket::process_testing {

// One rank's place in a round of a pattern.
struct Round {
  hocket_comm* comm;
  int rank, size;
  const hocket_call_options& options;  // of all its calls
};

struct Pattern {
  const char* name;
  std::function<hocket_result(const Round&)> run;  // how the first of its calls ended that failed
  // Some ranks only send, and go on before others have received: what ranks tell each other may come behind that.
  bool runs_ahead = false;
};
void PrintTo(const Pattern& pattern, std::ostream* out);

// Every collective, small and large where that matters, those with blocks of unequal size, and messages in rings,
// chains, and from whoever comes.
std::vector<Pattern> call_patterns();
// Those of these names.
std::vector<Pattern> call_patterns(const std::set<std::string>& names);

}  // namespace hocket::process_testing
