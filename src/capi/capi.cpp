// The C API: translation only. Checks handles, catches what must not cross, remembers the latest failure of each
// thread.
#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "hocket/hocket.h"
#include "src/base/sized_struct.hpp"
#include "src/comm/communicator.hpp"
#include "src/comm/shared_allocation.hpp"
#include "src/comm/split.hpp"

#define HOCKET_TEXT(number) #number
#define HOCKET_VERSION_TEXT(major, minor, patch) HOCKET_TEXT(major) "." HOCKET_TEXT(minor) "." HOCKET_TEXT(patch)

struct hocket_comm {
  std::unique_ptr<hocket::Communicator> communicator;
};

struct hocket_work {
  hocket::Communicator* communicator;  // only valid while the operation is unfinished
  std::shared_ptr<hocket::Operation> operation;
};

namespace {

using hocket::Cause;
using hocket::Code;
using hocket::Collective;
using hocket::Deadline;
using hocket::Status;

thread_local Cause latest_failure{.code = Code::ok, .message = {}, .operation = {}};

// What hocket_last_call() tells: kept as it comes, written out when somebody asks.
struct LatestCall {
  bool known = false;
  std::uint64_t sequence = 0;
  std::string transports;
  std::string_view algorithm;
  std::string_view wire;
};
thread_local LatestCall latest_call;

// Of an operation that is finished.
Status remember(const Status& status, const hocket::Operation& operation) {
  if (!status.ok()) return status;
  latest_call.known = true;
  latest_call.sequence = operation.sequence();
  latest_call.transports = operation.transports();
  latest_call.algorithm = operation.algorithm();
  latest_call.wire = hocket::name_of(operation.wire());
  return status;
}

// The process's registered memory: the one thing that calls share without a communicator. Never destroyed, because
// memory may be freed after main.
hocket::RegionTable& registered_memory() {
  static auto* const table = new hocket::RegionTable;
  return *table;
}

hocket_result report(const Status& status) {
  if (status.ok()) return HOCKET_OK;
  latest_failure = status.cause();
  return static_cast<hocket_result>(status.code());
}

// Runs the body of an API function; no exception leaves.
template <class Body>
hocket_result guarded(Body body) noexcept {
  try {
    return report(body());
  } catch (const std::bad_alloc&) {
    latest_failure = Cause{.code = Code::out_of_resources, .message = "memory ran out", .operation = {}};
  } catch (const std::exception& error) {
    latest_failure = Cause{.code = Code::internal,
                           .message = std::string("a defect of Hocket, please report it: ") + error.what(),
                           .operation = {}};
  }
  return static_cast<hocket_result>(latest_failure.code);
}

Status null_argument(const char* name) {
  return {Code::invalid_argument, std::string(name) + " is null"};
}

hocket_result call(hocket_comm* comm, hocket::CallArguments arguments, const hocket_call_options* options,
                   hocket_work** work) noexcept {
  return guarded([&]() -> Status {
    if (work != nullptr) *work = nullptr;
    if (comm == nullptr) return null_argument("comm");
    if (options != nullptr) {
      const auto given = hocket::read_sized(options);
      if (!given) {
        return {Code::invalid_argument, "options.struct_size is wrong: begin with HOCKET_CALL_OPTIONS_INIT"};
      }
      arguments.timeout_ms = given->timeout_ms;
      arguments.scalar = given->scalar;
      arguments.function = given->function;
      arguments.context = given->context;
      arguments.commutative = given->commutative != 0;
      arguments.wire = static_cast<int>(given->wire);
    }
    auto operation = comm->communicator->prepare(arguments);
    if (!operation.ok()) return operation.status();
    if (work == nullptr) return remember(comm->communicator->run(*operation), **operation);
    auto handle = std::make_unique<hocket_work>(hocket_work{comm->communicator.get(), *operation});
    if (Status status = comm->communicator->start(*operation); !status.ok()) return status;
    *work = handle.release();
    return {};
  });
}

// `wish_of` makes the wish of a rank of this communicator.
template <class WishOf>
hocket_result split(hocket_comm* parent, hocket_comm** child, const hocket_split_options* options,
                    WishOf wish_of) noexcept {
  return guarded([&]() -> Status {
    if (child == nullptr) return null_argument("child");
    *child = nullptr;
    if (parent == nullptr) return null_argument("parent");
    const auto given = hocket::read_sized(options);
    if (!given) return {Code::invalid_argument, "options.struct_size is wrong: begin with HOCKET_SPLIT_OPTIONS_INIT"};
    const hocket::Result<hocket::SplitWish> wish = wish_of(*parent->communicator);
    if (!wish.ok()) return wish.status();
    auto request = hocket::split_request(*wish, *given);
    if (!request.ok()) return request.status();
    auto made = parent->communicator->split(*request);
    if (!made.ok()) return made.status();
    if (*made) *child = new hocket_comm{std::move(*made)};
    return {};
  });
}

void copy_text(char* target, std::size_t room, std::string_view text) {
  const std::size_t length = std::min(text.size(), room - 1);
  std::memcpy(target, text.data(), length);
  target[length] = '\0';
}

}  // namespace

extern "C" {

const char* hocket_version(void) {
  return HOCKET_VERSION_TEXT(HOCKET_VERSION_MAJOR, HOCKET_VERSION_MINOR, HOCKET_VERSION_PATCH);
}

const char* hocket_result_name(hocket_result result) {
  switch (result) {
    case HOCKET_OK: return "HOCKET_OK";
    case HOCKET_IN_PROGRESS: return "HOCKET_IN_PROGRESS";
    case HOCKET_INVALID_ARGUMENT: return "HOCKET_INVALID_ARGUMENT";
    case HOCKET_UNSUPPORTED: return "HOCKET_UNSUPPORTED";
    case HOCKET_INVALID_ENVIRONMENT: return "HOCKET_INVALID_ENVIRONMENT";
    case HOCKET_OUT_OF_RESOURCES: return "HOCKET_OUT_OF_RESOURCES";
    case HOCKET_ADDRESS_IN_USE: return "HOCKET_ADDRESS_IN_USE";
    case HOCKET_STORE_UNREACHABLE: return "HOCKET_STORE_UNREACHABLE";
    case HOCKET_RANK_TAKEN: return "HOCKET_RANK_TAKEN";
    case HOCKET_PEER_LOST: return "HOCKET_PEER_LOST";
    case HOCKET_TIMEOUT: return "HOCKET_TIMEOUT";
    case HOCKET_ABORTED: return "HOCKET_ABORTED";
    case HOCKET_MISMATCH: return "HOCKET_MISMATCH";
    case HOCKET_PROTOCOL_ERROR: return "HOCKET_PROTOCOL_ERROR";
    case HOCKET_NOT_FOUND: return "HOCKET_NOT_FOUND";
    case HOCKET_INTERNAL: return "HOCKET_INTERNAL";
  }
  return "unknown result";
}

size_t hocket_dtype_size(hocket_dtype dtype) {
  const int number = dtype;
  return number < 0 || number > UINT8_MAX ? 0 : hocket::size_of(static_cast<hocket::DataType>(number));
}

const char* hocket_last_error(void) {
  return latest_failure.message.c_str();
}

hocket_result hocket_last_cause(hocket_cause* cause) {
  if (cause == nullptr) return HOCKET_INVALID_ARGUMENT;
  hocket_cause out = HOCKET_CAUSE_INIT;
  out.code = static_cast<hocket_result>(latest_failure.code);
  out.rank = latest_failure.rank;
  out.peer = latest_failure.peer;
  out.sequence = latest_failure.sequence;
  out.elapsed_seconds = latest_failure.elapsed_seconds;
  copy_text(out.operation, sizeof out.operation, latest_failure.operation);
  copy_text(out.message, sizeof out.message, latest_failure.message);
  return hocket::write_sized(cause, out) ? HOCKET_OK : HOCKET_INVALID_ARGUMENT;
}

hocket_result hocket_last_call(hocket_call_info* info) {
  return guarded([&]() -> Status {
    if (info == nullptr) return null_argument("info");
    if (!latest_call.known) {
      return {Code::not_found, "no collective, send or recv has succeeded on this thread yet"};
    }
    hocket_call_info out = HOCKET_CALL_INFO_INIT;
    out.sequence = latest_call.sequence;
    copy_text(out.transport, sizeof out.transport, latest_call.transports);
    copy_text(out.algorithm, sizeof out.algorithm, latest_call.algorithm);
    copy_text(out.wire, sizeof out.wire, latest_call.wire);
    if (hocket::write_sized(info, out)) return {};
    return {Code::invalid_argument, "info.struct_size is wrong: begin with HOCKET_CALL_INFO_INIT"};
  });
}

hocket_result hocket_comm_create(hocket_comm** comm, const hocket_comm_options* options) {
  return guarded([&]() -> Status {
    if (comm == nullptr) return null_argument("comm");
    *comm = nullptr;
    const auto resolved = hocket::resolve_options(options);
    if (!resolved.ok()) return resolved.status();
    auto made = hocket::Communicator::create(*resolved, registered_memory());
    if (!made.ok()) return made.status();
    *comm = new hocket_comm{std::move(*made)};
    return {};
  });
}

hocket_result hocket_comm_create_local(hocket_comm** comms, int32_t world_size, const hocket_comm_options* options) {
  return guarded([&]() -> Status {
    if (comms == nullptr) return null_argument("comms");
    const auto resolved = hocket::resolve_local_options(options, world_size);
    if (!resolved.ok()) return resolved.status();
    std::fill_n(comms, world_size, nullptr);
    auto made = hocket::Communicator::create_local(*resolved);
    if (!made.ok()) return made.status();
    for (auto& communicator : *made) *comms++ = new hocket_comm{std::move(communicator)};
    return {};
  });
}

hocket_result hocket_comm_destroy(hocket_comm* comm) {
  return guarded([&]() -> Status {
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

hocket_result hocket_comm_split(hocket_comm* parent, int32_t color, int32_t key, hocket_comm** child,
                                const hocket_split_options* options) {
  return split(parent, child, options, [&](const hocket::Communicator&) { return hocket::wish_to_split(color, key); });
}

hocket_result hocket_comm_duplicate(hocket_comm* parent, hocket_comm** child, const hocket_split_options* options) {
  return split(parent, child, options, [](const hocket::Communicator&) { return hocket::wish_to_duplicate(); });
}

hocket_result hocket_comm_subset(hocket_comm* parent, const int32_t* ranks, int32_t count, hocket_comm** child,
                                 const hocket_split_options* options) {
  return split(parent, child, options, [&](const hocket::Communicator& communicator) {
    return hocket::wish_for_subset(ranks, count, communicator.rank(), communicator.size());
  });
}

hocket_result hocket_allreduce(const void* send, void* recv, size_t count, hocket_dtype dtype, hocket_op op,
                               hocket_comm* comm, const hocket_call_options* options, hocket_work** work) {
  return call(comm, {Collective::allreduce, send, recv, count, dtype, op}, options, work);
}

hocket_result hocket_reduce(const void* send, void* recv, size_t count, hocket_dtype dtype, hocket_op op, int32_t root,
                            hocket_comm* comm, const hocket_call_options* options, hocket_work** work) {
  return call(comm, {Collective::reduce, send, recv, count, dtype, op, root}, options, work);
}

hocket_result hocket_reduce_scatter(const void* send, void* recv, size_t recvcount, hocket_dtype dtype, hocket_op op,
                                    hocket_comm* comm, const hocket_call_options* options, hocket_work** work) {
  return call(comm, {Collective::reduce_scatter, send, recv, recvcount, dtype, op}, options, work);
}

hocket_result hocket_allgather(const void* send, void* recv, size_t sendcount, hocket_dtype dtype, hocket_comm* comm,
                               const hocket_call_options* options, hocket_work** work) {
  return call(comm, {Collective::allgather, send, recv, sendcount, dtype}, options, work);
}

hocket_result hocket_broadcast(const void* send, void* recv, size_t count, hocket_dtype dtype, int32_t root,
                               hocket_comm* comm, const hocket_call_options* options, hocket_work** work) {
  return call(comm, {Collective::broadcast, send, recv, count, dtype, HOCKET_SUM, root}, options, work);
}

hocket_result hocket_scatter(const void* send, void* recv, size_t recvcount, hocket_dtype dtype, int32_t root,
                             hocket_comm* comm, const hocket_call_options* options, hocket_work** work) {
  return call(comm, {Collective::scatter, send, recv, recvcount, dtype, HOCKET_SUM, root}, options, work);
}

hocket_result hocket_gather(const void* send, void* recv, size_t sendcount, hocket_dtype dtype, int32_t root,
                            hocket_comm* comm, const hocket_call_options* options, hocket_work** work) {
  return call(comm, {Collective::gather, send, recv, sendcount, dtype, HOCKET_SUM, root}, options, work);
}

hocket_result hocket_alltoall(const void* send, void* recv, size_t count, hocket_dtype dtype, hocket_comm* comm,
                              const hocket_call_options* options, hocket_work** work) {
  return call(comm, {Collective::alltoall, send, recv, count, dtype}, options, work);
}

hocket_result hocket_barrier(hocket_comm* comm, const hocket_call_options* options, hocket_work** work) {
  return call(comm, {}, options, work);
}

hocket_result hocket_send(const void* send, size_t count, hocket_dtype dtype, int32_t peer, hocket_comm* comm,
                          const hocket_call_options* options, hocket_work** work) {
  return call(comm, {Collective::send, send, nullptr, count, dtype, HOCKET_SUM, peer}, options, work);
}

hocket_result hocket_recv(void* recv, size_t count, hocket_dtype dtype, int32_t peer, hocket_comm* comm,
                          const hocket_call_options* options, hocket_work** work) {
  return call(comm, {Collective::recv, nullptr, recv, count, dtype, HOCKET_SUM, peer}, options, work);
}

hocket_result hocket_work_test(hocket_work* work) {
  if (work != nullptr && !work->operation->finished()) return HOCKET_IN_PROGRESS;
  return guarded(
      [&] { return work == nullptr ? null_argument("work") : remember(work->operation->status(), *work->operation); });
}

hocket_result hocket_work_wait(hocket_work* work, int64_t timeout_ms) {
  return guarded([&]() -> Status {
    if (work == nullptr) return null_argument("work");
    if (timeout_ms < 0)
      return {Code::invalid_argument, "timeout_ms is negative; use 0 for the operation's own deadline"};
    constexpr int64_t long_enough_ms = int64_t{1000} * 3600 * 24 * 365;
    const int64_t wait_ms = timeout_ms == 0 ? long_enough_ms : std::min(timeout_ms, long_enough_ms);
    const Deadline deadline = Deadline::after(std::chrono::milliseconds(wait_ms));
    const bool finished = work->operation->finished();  // then its communicator may be gone
    return remember(finished ? work->operation->status() : work->communicator->wait(work->operation, deadline),
                    *work->operation);
  });
}

hocket_result hocket_work_release(hocket_work* work) {
  return guarded([&]() -> Status {
    delete work;
    return {};
  });
}

hocket_result hocket_mem_alloc(void** memory, size_t bytes) {
  return guarded([&]() -> Status {
    if (memory == nullptr) return null_argument("memory");
    *memory = nullptr;
    auto made = hocket::allocate_shared(registered_memory(), bytes);
    if (!made.ok()) return made.status();
    *memory = *made;
    return {};
  });
}

hocket_result hocket_mem_free(void* memory) {
  return guarded([&] { return hocket::free_shared(registered_memory(), memory); });
}

hocket_result hocket_register(int fd, void* address, size_t bytes) {
  return guarded([&]() -> Status {
    const auto id = registered_memory().add(fd, address, bytes);
    return id.ok() ? Status() : id.status();
  });
}

hocket_result hocket_unregister(void* address) {
  return guarded([&]() -> Status {
    if (registered_memory().remove(address)) return {};
    return {Code::invalid_argument, "address is not the start of memory that hocket_register() was given"};
  });
}

}  // extern "C"
