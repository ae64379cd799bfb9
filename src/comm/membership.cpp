#include "src/comm/membership.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/base/host_identity.hpp"
#include "src/base/printable.hpp"
#include "transports/registry.hpp"

namespace hocket::comm {
namespace {

// Whether `rank`, which told `theirs`, was given the same options as this one, which told `mine`.
Status check_agreement(const PeerInfo& mine, Rank self, const PeerInfo& theirs, Rank rank) {
  if (Status build = check_build(mine, self, theirs, rank); !build.ok()) return build;
  const auto differs = [&](std::string why) {
    return Status(Cause{.code = Code::mismatch, .message = std::move(why), .peer = rank});
  };
  if (theirs.algorithm != mine.algorithm) {
    return differs(
        fmt::format("rank {} was told to use algorithm \"{}\", rank {} \"{}\": set HOCKET_ALGORITHM to the same value "
                    "on all ranks",
                    self, mine.algorithm, rank, printable(theirs.algorithm)));
  }
  if (theirs.tuning != mine.tuning) {
    const auto tables = [](const std::string& digest) {
      return digest.empty() ? "no tables" : fmt::format("tables with digest {}", digest);
    };
    return differs(
        fmt::format("rank {} read {} of algorithms, rank {} {}: give all ranks the same file in HOCKET_TUNING", self,
                    tables(mine.tuning), rank, printable(tables(theirs.tuning))));
  }
  if (theirs.deterministic != mine.deterministic) {
    const bool here = mine.deterministic;
    return differs(
        fmt::format("rank {} was created in deterministic mode, rank {} was not: set options.deterministic "
                    "or HOCKET_DETERMINISTIC to the same value on all ranks",
                    here ? self : rank, here ? rank : self));
  }
  return {};
}

// Of the transports that may be used.
NetworkSpeed network_speed(std::string_view transport) {
  std::int64_t fastest = 0;
  for (const TransportEntry& entry : transports()) {
    const bool used = transport == entry.name || (transport == "auto" && entry.automatic != Automatic::no);
    if (used && entry.megabits_per_second != nullptr) fastest = std::max(fastest, entry.megabits_per_second());
  }
  return network_speed_of(fastest);
}

}  // namespace

Status check_build(const PeerInfo& mine, Rank self, const PeerInfo& theirs, Rank rank) {
  const std::string what = difference(mine.build, theirs.build);
  if (what.empty()) return {};
  return Status(Cause{.code = Code::mismatch,
                      .message = fmt::format("rank {} is another build of Hocket than rank {}: {}; install the same "
                                             "Hocket on all ranks",
                                             rank, self, what),
                      .peer = rank});
}

PeerInfo describe_self(const Options& options, std::vector<Endpoint> endpoints) {
  return {.build = BuildIdentity::own(),
          .endpoints = std::move(endpoints),
          .process = ProcessIdentity::own(),
          .host = HostIdentity::own().name(),
          .algorithm = options.algorithms.summary(),
          .tuning = options.tuning.digest(),
          .deterministic = options.deterministic,
          .speed = network_speed(options.transport),
          .cores = CoreSet::own()};
}

Result<Membership> Membership::make(Options options, SharedPeerInfos peers) {
  const PeerInfo& own = (*peers)[static_cast<std::size_t>(options.rank)];
  for (Rank rank = 0; rank < options.size; ++rank) {
    const Status agreed = check_agreement(own, options.rank, (*peers)[static_cast<std::size_t>(rank)], rank);
    if (!agreed.ok()) return agreed;
  }
  return Membership(std::move(options), std::move(peers));
}

}  // namespace hocket::comm
