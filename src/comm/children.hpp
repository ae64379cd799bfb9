// Communicators made from others: agreement by two allgathers on the parent, the second of where the children's ranks
// can be reached. Then each child connects its own ring and opens its own window. A child on its parent's links needs
// the first alone, and a window of its ranks if there is none yet.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>

#include "src/comm/communicator_parts.hpp"
#include "src/comm/split.hpp"

namespace hocket::comm {

// What a communicator gives to have children.
struct Parent {
  const CommunicatorParts& parts;
  const RegionTable* regions;  // this process's registered memory; null: none
  std::atomic<int>& children;  // that it had so far
  // Every rank's block to every rank, over the parent; `all` holds this rank's in its place.
  std::function<Status(std::span<std::byte> all, Deadline deadline)> allgather;
};

// Collective. The child that this rank is in; nothing where it is in none. A request to stop breaks the parent, whose
// other ranks wait for this one.
Result<std::optional<CommunicatorParts>> make_child(const Parent& parent, const SplitRequest& request,
                                                    const std::stop_token& stop);

}  // namespace hocket::comm
