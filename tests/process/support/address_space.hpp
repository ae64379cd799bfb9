// How much address space this process uses: what a limit of it (RLIMIT_AS) must leave.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace hocket::process_testing {

inline rlim_t address_space_in_use() {
  std::ifstream statm("/proc/self/statm");
  rlim_t pages = 0;
  statm >> pages;
  return pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace hocket::process_testing
