// What the C API remembers of each thread: its latest failure, and how its latest call was carried out.
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "src/base/sized_struct.hpp"
#include "src/capi/handles.hpp"

namespace hocket::capi {

namespace {

thread_local Status latest_failure;  // shared, not copied: keeping it needs no memory

// What hocket_last_call() tells: kept as it comes, written out when somebody asks. Neither made nor destroyed by code,
// so that nothing has to look whether it was made.
static_assert(std::is_trivially_destructible_v<comm::CallFacts>);
constinit thread_local comm::CallFacts latest_call;  // of no manner: there was none

void copy_text(char* target, std::size_t room, std::string_view text) {
  const std::size_t length = std::min(text.size(), room - 1);
  std::memcpy(target, text.data(), length);
  target[length] = '\0';
}

}  // namespace

hocket_result report(const Status& status) {
  if (!status.ok()) latest_failure = status;
  return static_cast<hocket_result>(status.code());
}

void remember(const Operation& operation) {
  comm::tell_facts(operation, latest_call);
}

void remember(const comm::CallFacts& facts, std::uint64_t sequence) {
  if (facts.manner != latest_call.manner) latest_call = facts;
  latest_call.sequence = sequence;
}

Code remember_again(const Operation& operation) {
  if (const Status& end = comm::end_of(operation); !end.ok()) [[unlikely]]
    return static_cast<Code>(report(end));
  comm::tell_facts_again(operation, latest_call);
  return Code::ok;
}

Status remember(Status status, const hocket_work& work) {
  if (!status.ok()) return status;
  if (work.calls.parts() != 0) {
    remember(*work.calls.part(work.calls.parts() - 1).operations.back());
  } else if (work.over) {
    remember(work.facts, work.facts.sequence);
  } else if (work.calls.run() != nullptr) {
    remember(work.facts, work.calls.run()->sequence());
  }
  return status;
}

Status latest_status() {
  return latest_failure;
}

}  // namespace hocket::capi

using namespace hocket::capi;  // the functions of the API stand outside all namespaces
using hocket::Code;
using hocket::Status;

extern "C" {

const char* hocket_last_error(void) {
  return latest_failure.message().c_str();
}

hocket_result hocket_last_cause(hocket_cause* cause) {
  if (cause == nullptr) return HOCKET_INVALID_ARGUMENT;
  hocket_cause out = HOCKET_CAUSE_INIT;
  if (!latest_failure.ok()) {
    const hocket::Cause& latest = latest_failure.cause();
    out.code = static_cast<hocket_result>(latest.code);
    out.rank = latest.rank;
    out.peer = latest.peer;
    out.sequence = latest.sequence;
    out.elapsed_seconds = latest.elapsed_seconds;
    copy_text(out.operation, sizeof out.operation, latest.operation);
    copy_text(out.message, sizeof out.message, latest.message);
  }
  return hocket::write_sized(cause, out) ? HOCKET_OK : HOCKET_INVALID_ARGUMENT;
}

hocket_result hocket_last_call(hocket_call_info* info) {
  return guarded([&]() -> Status {
    if (info == nullptr) return null_argument("info");
    if (latest_call.manner == 0) {
      return {Code::not_found, "no collective, send or recv has succeeded on this thread yet"};
    }
    hocket_call_info out = HOCKET_CALL_INFO_INIT;
    const auto& facts = latest_call;
    out.sequence = facts.sequence;
    copy_text(out.transport, sizeof out.transport, facts.transports.text());
    copy_text(out.algorithm, sizeof out.algorithm, facts.algorithm);
    copy_text(out.wire, sizeof out.wire, hocket::name_of(facts.wire));
    if (hocket::write_sized(info, out)) return {};
    return {Code::invalid_argument, "info.struct_size is wrong: begin with HOCKET_CALL_INFO_INIT"};
  });
}

}  // extern "C"
