// Joining: the members of a communicator and newcomers make a larger one. They find each other at a named point of a
// store, then meet there as the ranks of a new communicator do.
//
// Newcomers take places at the point (places.hpp). The members' rank 0 chooses among them, tells the members over their
// communicator, and invites each newcomer through the store. Whether the attempt counts is decided in the store, once:
// so members that lose each other while they make the new communicator agree with the others, and with the newcomers.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include "hocket/join.h"
#include "src/comm/communicator_parts.hpp"
#include "src/comm/options.hpp"

namespace hocket::comm {

struct JoinRequest {
  Options options;                       // rank and size do not count
  std::chrono::milliseconds timeout{0};  // for newcomers to come, or to be taken in
  Rank newcomers_min = 1, newcomers_max = 1;
  std::string point = "default";
};
// `rank`: of the members; nothing: this is a newcomer. Both may be null.
Result<JoinRequest> join_request(const hocket_join_options* join, const hocket_comm_options* options,
                                 std::optional<Rank> rank);

struct Members {
  const CommunicatorParts& parts;
  const RegionTable* regions;
  // Every rank's block to every rank; `all` holds this rank's in its place.
  std::function<Status(std::span<std::byte> all, Deadline deadline)> allgather;
};

// Collective. Nothing where nobody came and nobody had to. A request to stop breaks the members' communicator.
Result<std::optional<CommunicatorParts>> take_in(const Members& members, const JoinRequest& request,
                                                 const std::stop_token& stop);
Result<CommunicatorParts> come_in(const JoinRequest& request, const RegionTable& regions, const std::stop_token& stop);

}  // namespace hocket::comm
