#include "src/store/limits.hpp"

#include <sys/resource.h>

#include <algorithm>

namespace hocket::store {

std::size_t descriptors_max() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1000;
  return static_cast<std::size_t>(std::min<rlim_t>(limit.rlim_cur, 1 << 20));
}

std::size_t clients_by_descriptors() {
  const std::size_t all = descriptors_max();
  return std::max<std::size_t>(all - std::min(all, std::max<std::size_t>(all / 8, 32)), 8);
}

}  // namespace hocket::store
