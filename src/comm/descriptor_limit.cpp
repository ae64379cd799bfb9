#include "src/comm/descriptor_limit.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "src/base/log.hpp"

namespace hocket::comm {
namespace {

constexpr rlim_t few = 16;

}  // namespace

std::string descriptor_warning(Rank rank, Rank size, std::size_t open, std::size_t to_come, std::size_t limit) {
  if (open + to_come <= limit) return {};
  return fmt::format(
      "rank {} has {} descriptors open and needs up to {} more to speak with all of its {} peers, but it "
      "may have {}: raise the limit to {} (ulimit -n), or algorithms that use many peers may end with "
      "HOCKET_OUT_OF_RESOURCES",
      rank, open, to_come, size - 1, limit, open + to_come);
}

void warn_of_descriptor_limit(Rank rank, Rank size, std::size_t to_come) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  if (to_come < limit.rlim_cur / few) return;  // to count what is open takes longer the more there is
  std::error_code unreadable;
  const auto open = std::filesystem::directory_iterator("/proc/self/fd", unreadable);
  const auto count = unreadable ? 0 : std::distance(begin(open), end(open));
  const std::string warning = descriptor_warning(rank, size, static_cast<std::size_t>(count), to_come, limit.rlim_cur);
  if (warning.empty()) return;
  static std::atomic<bool> told = false;  // a process may make many communicators
  log::write(rank == 0 && !told.exchange(true) ? log::Level::warn : log::Level::info, warning);
}

}  // namespace hocket::comm
