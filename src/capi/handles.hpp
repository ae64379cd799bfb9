// What the sources of the C API share: the handles, and how a body's failure becomes a result of the calling thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "hocket/hocket.h"
#include "src/base/caught.hpp"
#include "src/base/region_table.hpp"
#include "src/capi/work_handle.hpp"
#include "src/comm/call_group.hpp"
#include "src/comm/communicator.hpp"
#include "src/comm/split.hpp"

struct hocket_comm {
  std::unique_ptr<hocket::comm::Communicator> communicator;
};

namespace hocket {
class Operation;
namespace comm {
struct ShrinkRequest;
}
}  // namespace hocket

namespace hocket::capi {

using comm::CallArguments;
using comm::CallGroup;
using comm::Communicator;
using comm::SplitArguments;
using comm::SplitRequest;
using comm::StartedCalls;

// Keeps the failure for hocket_last_cause() of the calling thread.
hocket_result report(const Status& status);
// What was kept last; ok before anything.
Status latest_status();

// Keeps how an operation that has succeeded was done, for hocket_last_call() of the calling thread.
void remember(const Operation& operation);
// What is known of it, but for its number, which is this.
void remember(const comm::CallFacts& facts, std::uint64_t sequence);
// The same of a call that was like the one before; where it has failed, keeps the failure. Its result.
Code remember_again(const Operation& operation);
// The same for the last one of a work, if all have succeeded.
Status remember(Status status, const hocket_work& work);

// What a call's options say, into its arguments; null: nothing. False where the caller was built with another version
// of the struct.
inline bool take_options(const hocket_call_options* options, CallArguments& arguments) {
  if (options == nullptr) return true;
  if (options->struct_size != sizeof *options) return false;
  arguments.timeout_ms = options->timeout_ms;
  arguments.scalar = options->scalar;
  arguments.function = options->function;
  arguments.context = options->context;
  arguments.commutative = options->commutative != 0;
  arguments.wire = static_cast<int>(options->wire);
  arguments.persistent = options->persistent != 0;
  arguments.opaque_bytes = options->element_bytes;
  arguments.stream = options->stream;
  return true;
}
// The same of any version. Code::invalid_argument.
Status read_options(const hocket_call_options* options, CallArguments& arguments);
// Of a persistent call that has no place for its handle.
Status persistent_without_work();
// Gives the handle of a persistent call, which does not begin.
Status keep(Communicator& communicator, StartedCalls calls, hocket_work** work);

// Until when a wait of `timeout_ms` goes on; 0: as long as what it waits for. Code::invalid_argument where it is
// negative.
Result<Deadline> deadline_of_wait(int64_t timeout_ms);

// What a split is asked for, from the caller's options.
Result<SplitRequest> split_request(const Result<SplitArguments>& arguments, const hocket_split_options* options);

// The same of a shrinking; `options` may be null.
Result<comm::ShrinkRequest> shrink_request(const hocket_shrink_options* options);

// Nothing where there is no communicator: a newcomer's.
std::optional<Rank> rank_in(const hocket_comm* comm);

// Whether the calling thread may wait for others; not inside a function that is called on completion.
bool may_wait();
// Where it may not.
Status wait_refused();

// Groups of the calling thread that are open. Not 0: calls are kept for their end.
extern constinit thread_local int open_groups;
// Keeps a call for the end of the group. `work` must be null there.
Status add_to_group(Communicator& communicator, const CallArguments& arguments, hocket_work** work);
// Passes a result on; a failure is that of the group, if one is open.
hocket_result in_group(hocket_result result);
// Before a communicator goes: the group does not hold on to it.
void forget_in_group(const Communicator& communicator);
// While it lives, the calling thread has no group open: a function that is called on completion is in none of those
// that its thread happens to have.
class WithoutGroups {
 public:
  WithoutGroups();
  ~WithoutGroups();
  WithoutGroups(const WithoutGroups&) = delete;
  WithoutGroups& operator=(const WithoutGroups&) = delete;

 private:
  const int open_;
  CallGroup kept_;
};

// The process's registered memory: the one thing that calls share without a communicator.
RegionTable& registered_memory();

inline Status null_argument(const char* name) {
  return {Code::invalid_argument, std::string(name) + " is null"};
}

// Runs the body of an API function; no exception leaves.
template <class Body>
hocket_result guarded(Body body) noexcept {
  try {
    return report(body());
  } catch (...) {
    return report(caught.status());
  }
}

}  // namespace hocket::capi
