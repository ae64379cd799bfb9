// The catalog as another version of Hocket might have it: one algorithm writes another schedule by now.
#define catalog catalog_of_this_build
#include "algorithms/catalog.cpp"
#undef catalog

#include <vector>

namespace hocket {

std::span<const Algorithm> catalog() {
  static const std::vector<Algorithm> changed = [] {
    std::vector<Algorithm> all(std::begin(entries), std::end(entries));
    for (Algorithm& algorithm : all) {
      if (algorithm.collective == Collective::alltoall && algorithm.name == "bruck") ++algorithm.version;
    }
    return all;
  }();
  return changed;
}

}  // namespace hocket
