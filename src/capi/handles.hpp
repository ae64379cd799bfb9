// What the sources of the C API share: the handles, and how a body's failure becomes a result of the calling thread.
#pragma once

#include <exception>
#include <memory>
#include <new>
#include <string>

#include "hocket/hocket.h"
#include "src/base/region_table.hpp"
#include "src/comm/communicator.hpp"

struct hocket_comm {
  std::unique_ptr<hocket::Communicator> communicator;
};

struct hocket_work {
  hocket::Communicator* communicator;  // only valid while the operation is unfinished
  std::shared_ptr<hocket::Operation> operation;
};

namespace hocket::capi {

// Keeps the failure for hocket_last_cause() of the calling thread.
hocket_result report(const Status& status);
hocket_result report(Cause cause);

// Keeps how an operation that is finished was done, for hocket_last_call() of the calling thread.
Status remember(const Status& status, const Operation& operation);

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
  } catch (const std::bad_alloc&) {
    return report(Cause{.code = Code::out_of_resources, .message = "memory ran out", .operation = {}});
  } catch (const std::exception& error) {
    return report(Cause{.code = Code::internal,
                        .message = std::string("a defect of Hocket, please report it: ") + error.what(),
                        .operation = {}});
  }
}

}  // namespace hocket::capi
