// The C API's communicators.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "src/base/sized_struct.hpp"
#include "src/capi/handles.hpp"
#include "src/comm/join.hpp"
#include "src/comm/options.hpp"
#include "src/comm/shrink.hpp"

using namespace hocket::capi;  // the functions of the API stand outside all namespaces
using hocket::Code;
using hocket::Status;

namespace hocket::capi {

Result<SplitRequest> split_request(const Result<SplitArguments>& arguments, const hocket_split_options* options) {
  const auto given = read_sized(options);
  if (!given) {
    return Status(Code::invalid_argument, "options.struct_size is wrong: begin with HOCKET_SPLIT_OPTIONS_INIT");
  }
  return arguments.ok() ? comm::split_request(*arguments, *given) : arguments.status();
}

Result<comm::ShrinkRequest> shrink_request(const hocket_shrink_options* options) {
  const auto given = read_sized(options);
  if (given) return comm::shrink_request(*given);
  return Status(Code::invalid_argument, "options.struct_size is wrong: begin with HOCKET_SHRINK_OPTIONS_INIT");
}

std::optional<Rank> rank_in(const hocket_comm* comm) {
  return comm == nullptr ? std::nullopt : std::optional(comm->communicator->rank());
}

}  // namespace hocket::capi

namespace {

// `arguments_of` makes the arguments of a rank of this communicator.
template <class ArgumentsOf>
hocket_result split(hocket_comm* parent, hocket_comm** child, const hocket_split_options* options,
                    ArgumentsOf arguments_of) noexcept {
  return guarded([&]() -> Status {
    if (child == nullptr) return null_argument("child");
    *child = nullptr;
    if (parent == nullptr) return null_argument("parent");
    if (!may_wait()) return wait_refused();
    auto request = hocket::capi::split_request(arguments_of(*parent->communicator), options);
    if (!request.ok()) return request.status();
    auto handle = std::make_unique<hocket_comm>();
    auto made = parent->communicator->split(*request);
    if (!made.ok()) return made.status();
    if (*made == nullptr) return {};
    handle->communicator = std::move(*made);
    *child = handle.release();
    return {};
  });
}

}  // namespace

extern "C" {

hocket_result hocket_comm_create(hocket_comm** comm, const hocket_comm_options* options) {
  return guarded([&]() -> Status {
    if (comm == nullptr) return null_argument("comm");
    *comm = nullptr;
    if (!may_wait()) return wait_refused();
    const auto resolved = hocket::comm::resolve_options(options);
    if (!resolved.ok()) return resolved.status();
    auto handle = std::make_unique<hocket_comm>();  // first: nothing may fail once the others have theirs
    auto made = hocket::comm::Communicator::create(*resolved, registered_memory());
    if (!made.ok()) return made.status();
    handle->communicator = std::move(*made);
    *comm = handle.release();
    return {};
  });
}

hocket_result hocket_comm_create_local(hocket_comm** comms, int32_t world_size, const hocket_comm_options* options) {
  return guarded([&]() -> Status {
    if (comms == nullptr) return null_argument("comms");
    const auto resolved = hocket::comm::resolve_local_options(options, world_size);
    if (!resolved.ok()) return resolved.status();
    std::fill_n(comms, world_size, nullptr);
    auto made = hocket::comm::Communicator::create_local(*resolved);
    if (!made.ok()) return made.status();
    for (auto& communicator : *made) *comms++ = new hocket_comm{std::move(communicator)};
    return {};
  });
}

hocket_result hocket_comm_destroy(hocket_comm* comm) {
  return guarded([&]() -> Status {
    if (comm != nullptr && !may_wait()) return wait_refused();
    if (comm != nullptr && open_groups > 0) forget_in_group(*comm->communicator);
    delete comm;
    return {};
  });
}

hocket_result hocket_comm_abort(hocket_comm* comm, const char* reason) {
  return guarded([&]() -> Status {
    if (comm == nullptr) return null_argument("comm");
    comm->communicator->abort(reason == nullptr ? "" : reason);
    return {};
  });
}

hocket_result hocket_comm_status(hocket_comm* comm) {
  return guarded([&] { return comm == nullptr ? null_argument("comm") : comm->communicator->status(); });
}

hocket_result hocket_comm_rank(const hocket_comm* comm, int32_t* rank) {
  return guarded([&]() -> Status {
    if (comm == nullptr) return null_argument("comm");
    if (rank == nullptr) return null_argument("rank");
    *rank = comm->communicator->rank();
    return {};
  });
}

hocket_result hocket_comm_size(const hocket_comm* comm, int32_t* world_size) {
  return guarded([&]() -> Status {
    if (comm == nullptr) return null_argument("comm");
    if (world_size == nullptr) return null_argument("world_size");
    *world_size = comm->communicator->size();
    return {};
  });
}

hocket_result hocket_comm_record(hocket_comm* comm, const char* path) {
  return guarded([&]() -> Status {
    if (comm == nullptr) return null_argument("comm");
    return comm->communicator->record(path == nullptr ? "" : path);
  });
}

hocket_result hocket_comm_counters(hocket_comm* comm, hocket_counters* counters) {
  return guarded([&]() -> Status {
    if (comm == nullptr) return null_argument("comm");
    if (counters == nullptr) return null_argument("counters");
    const hocket::Counters now = comm->communicator->counters();
    hocket_counters out = HOCKET_COUNTERS_INIT;
    out.operations = now.operations;
    out.steps = now.steps;
    out.messages_sent = now.messages_sent;
    out.bytes_sent = now.bytes_sent;
    out.bytes_received = now.bytes_received;
    if (hocket::write_sized(counters, out)) return {};
    return {Code::invalid_argument, "counters.struct_size is wrong: begin with HOCKET_COUNTERS_INIT"};
  });
}

hocket_result hocket_comm_peer_counters(hocket_comm* comm, int32_t rank, hocket_peer_counters* counters) {
  return guarded([&]() -> Status {
    if (comm == nullptr) return null_argument("comm");
    if (counters == nullptr) return null_argument("counters");
    const hocket::Rank size = comm->communicator->size();
    if (rank < 0 || rank >= size) {
      return {Code::invalid_argument, fmt::format("rank is {}; the communicator's are 0 to {}", rank, size - 1)};
    }
    const auto exchanged = comm->communicator->exchanged_with(rank);
    hocket_peer_counters out = HOCKET_PEER_COUNTERS_INIT;
    out.messages_sent = exchanged.counted.messages_sent;
    out.messages_received = exchanged.counted.messages_received;
    out.bytes_sent = exchanged.counted.bytes_sent;
    out.bytes_received = exchanged.counted.bytes_received;
    out.waits = exchanged.counted.waits;
    out.waited_ns = static_cast<std::uint64_t>(exchanged.waited.count());
    if (hocket::write_sized(counters, out)) return {};
    return {Code::invalid_argument, "counters.struct_size is wrong: begin with HOCKET_PEER_COUNTERS_INIT"};
  });
}

hocket_result hocket_comm_shrink(hocket_comm* comm, hocket_comm** shrunk, const hocket_shrink_options* options) {
  return guarded([&]() -> Status {
    if (shrunk == nullptr) return null_argument("shrunk");
    *shrunk = nullptr;
    if (comm == nullptr) return null_argument("comm");
    if (!may_wait()) return wait_refused();
    const auto request = hocket::capi::shrink_request(options);
    if (!request.ok()) return request.status();
    auto handle = std::make_unique<hocket_comm>();
    auto made = comm->communicator->shrink(*request);
    if (!made.ok()) return made.status();
    handle->communicator = std::move(*made);
    *shrunk = handle.release();
    return {};
  });
}

hocket_result hocket_comm_join(hocket_comm* comm, hocket_comm** joined, const hocket_join_options* join,
                               const hocket_comm_options* options) {
  return guarded([&]() -> Status {
    if (joined == nullptr) return null_argument("joined");
    *joined = nullptr;
    if (!may_wait()) return wait_refused();
    const auto request = hocket::comm::join_request(join, options, rank_in(comm));
    if (!request.ok()) return request.status();
    auto handle = std::make_unique<hocket_comm>();  // nothing may fail once the others have theirs
    auto made = comm == nullptr ? hocket::comm::Communicator::come_in(*request, registered_memory())
                                : comm->communicator->take_in(*request);
    if (!made.ok()) return made.status();
    if (!*made) return {};
    handle->communicator = std::move(*made);
    *joined = handle.release();
    return {};
  });
}

hocket_result hocket_comm_previous_rank(const hocket_comm* comm, int32_t rank, int32_t* previous) {
  return guarded([&]() -> Status {
    if (comm == nullptr) return null_argument("comm");
    if (previous == nullptr) return null_argument("previous");
    const auto found = comm->communicator->previous_rank(rank);
    if (!found.ok()) return found.status();
    *previous = *found;
    return {};
  });
}

hocket_result hocket_comm_split(hocket_comm* parent, int32_t color, int32_t key, hocket_comm** child,
                                const hocket_split_options* options) {
  return split(parent, child, options,
               [&](const hocket::comm::Communicator&) { return hocket::comm::split_arguments(color, key); });
}

hocket_result hocket_comm_duplicate(hocket_comm* parent, hocket_comm** child, const hocket_split_options* options) {
  return split(parent, child, options,
               [](const hocket::comm::Communicator&) { return hocket::comm::duplicate_arguments(); });
}

hocket_result hocket_comm_subset(hocket_comm* parent, const int32_t* ranks, int32_t count, hocket_comm** child,
                                 const hocket_split_options* options) {
  return split(parent, child, options, [&](const hocket::comm::Communicator& communicator) {
    return hocket::comm::subset_arguments(ranks, count, communicator.rank(), communicator.size());
  });
}

}  // extern "C"
