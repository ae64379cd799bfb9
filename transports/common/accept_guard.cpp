#include "transports/common/accept_guard.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <utility>

#include "src/base/log.hpp"

namespace hocket {
namespace {

constexpr std::size_t refused_max = 64;
constexpr std::chrono::seconds pause{1};

}  // namespace

void AcceptGuard::shut(int error) {
  if (!shut_until_) {
    log::warn(fmt::format("rank {} cannot accept a connection: {}; raise the limit of open files (ulimit -n)",
                          config_.rank, std::strerror(error)));
  }
  shut_until_ = Deadline::after(pause);
  error_ = error;
}

std::string AcceptGuard::shortage(Rank peer) const {
  return fmt::format("rank {} cannot accept the connection of rank {} ({}): raise the limit of open files (ulimit -n)",
                     config_.rank, peer, std::strerror(error_));
}

std::string AcceptGuard::objection(std::uint64_t group, Rank from, Rank to) const {
  if (group != config_.group) return "it belongs to another group of ranks";
  if (to != config_.rank) return fmt::format("it looks for rank {}, but this is rank {}", to, config_.rank);
  if (from >= config_.size) return fmt::format("there is no rank {} in this group", from);
  if (from <= config_.rank) return fmt::format("rank {} is not one that dials this rank", from);
  return "";
}

void AcceptGuard::log_refusal(std::string stranger, const std::string& name, const std::string& why) {
  if (refused_.size() >= refused_max || !refused_.insert(std::move(stranger)).second) return;
  log::warn(fmt::format("rank {} refused a connection from {}: {} (later ones from there are not logged)", config_.rank,
                        name, why));
}

}  // namespace hocket
