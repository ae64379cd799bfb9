// The C API's version, names, and what is remembered of each thread's latest calls.
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "src/base/sized_struct.hpp"
#include "src/capi/handles.hpp"
#include "src/comm/operations.hpp"

#define HOCKET_TEXT(number) #number
#define HOCKET_VERSION_TEXT(major, minor, patch) HOCKET_TEXT(major) "." HOCKET_TEXT(minor) "." HOCKET_TEXT(patch)

namespace hocket::capi {

namespace {

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

void copy_text(char* target, std::size_t room, std::string_view text) {
  const std::size_t length = std::min(text.size(), room - 1);
  std::memcpy(target, text.data(), length);
  target[length] = '\0';
}

}  // namespace

hocket_result report(const Status& status) {
  return status.ok() ? HOCKET_OK : report(status.cause());
}

hocket_result report(Cause cause) {
  latest_failure = std::move(cause);
  return static_cast<hocket_result>(latest_failure.code);
}

Status remember(const Status& status, const Operation& operation) {
  if (!status.ok()) return status;
  latest_call.known = true;
  latest_call.sequence = operation.sequence();
  if (latest_call.transports != operation.transports()) latest_call.transports = operation.transports();
  latest_call.algorithm = operation.algorithm();
  latest_call.wire = name_of(operation.wire());
  return status;
}

Status remember(const Status& status, const StartedCalls& calls) {
  return calls.parts.empty() || !status.ok() ? status : remember(status, *calls.parts.back().operations.back());
}

Status latest_status() {
  return latest_failure.code == Code::ok ? Status() : Status(latest_failure);
}

}  // namespace hocket::capi

using namespace hocket::capi;  // the functions of the API stand outside all namespaces
using hocket::Code;
using hocket::Status;

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

}  // extern "C"
