#include "src/comm/record_text.hpp"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "hocket/api.h"
#include "src/base/host_identity.hpp"
#include "src/base/process_identity.hpp"
#include "src/plan/algorithm_id.hpp"
#include "src/spi/collectives.hpp"

namespace hocket::comm {
namespace {

using Json = nlohmann::ordered_json;

constexpr int record_format_version = 1;

std::int64_t nanoseconds(Deadline::Clock::time_point time) {
  return std::chrono::nanoseconds(time.time_since_epoch()).count();
}

std::string_view name_of_reason(RecordReason reason) {
  switch (reason) {
    case RecordReason::broken: return "broken";
    case RecordReason::signal: return "signal";
    case RecordReason::request: return "request";
    case RecordReason::end: return "end";
  }
  return "unknown";
}

std::string_view name_of_kind(SignatureKind kind) {
  switch (kind) {
    case SignatureKind::collective: return "collective";
    case SignatureKind::list: return "list";
    case SignatureKind::split: return "split";
    case SignatureKind::send: return "send";
    case SignatureKind::receive: return "receive";
  }
  return "unknown";
}

// Empty where this build does not know it.
std::string algorithm_of(const Signature& call, const std::optional<DirectPath>& path) {
  if (path) return std::string(name_of(*path));
  if (call.algorithm == direct_paths_id) return "direct paths";
  if (call.algorithm == host_windows_id) return "windows of hosts";
  for (const Algorithm& algorithm : catalog()) {
    if (id_of(algorithm) == call.algorithm) return std::string(algorithm.name);
  }
  return "";
}

// What the call is, on whatever rank.
void describe_call(Json& json, const Tag& tag, Rank peer) {
  const Signature& call = tag.call;
  json["communicator"] = tag.communicator;
  json["number"] = tag.sequence;
  json["kind"] = name_of_kind(call.kind);
  json["collective"] = name_of(call.collective);
  json["call"] = describe(call);
  json["type"] = name_of(call.dtype);
  if (call.count != Signature::unknown_count) {
    json["count"] = call.count;
    json["bytes"] = call.count * size_of(call);
  }
  if (is_message(call)) {
    if (peer != no_rank) json["peer"] = peer;
  } else {
    json["root"] = call.root;
  }
}

Json describe_operation(const RecordedOperation& operation) {
  Json json;
  describe_call(json, operation.tag, operation.peer);
  json["algorithm"] = algorithm_of(operation.tag.call, operation.path);
  json["wire"] = name_of(operation.tag.call.wire);
  json["began_ns"] = nanoseconds(operation.began);
  if (operation.ended) json["ended_ns"] = nanoseconds(*operation.ended);
  if (!operation.exact) json["exact"] = false;
  const bool meets = operation.tag.call.algorithm == direct_paths_id && !operation.path;
  json["stage"] = operation.ended ? "ended" : meets ? "meets the others" : "moves data";
  return json;
}

Json describe_wait(const RecordedWait& wait) {
  Json json;
  describe_call(json, wait.tag, wait.peer);
  json["begun"] = wait.begun;
  json["seconds"] = wait.seconds;
  json["awaited"] = wait.awaited;
  json["text"] = wait.text;
  return json;
}

std::string_view name_of_step(StepKind kind) {
  switch (kind) {
    case StepKind::send: return "send";
    case StepKind::recv: return "recv";
    case StepKind::recv_reduce: return "recv_reduce";
    case StepKind::copy: return "copy";
    case StepKind::reduce: return "reduce";
  }
  return "unknown";
}

// Compact, as there may be very many.
Json describe_step(const RecordedStep& step) {
  const Json ended = step.ended ? Json(nanoseconds(*step.ended)) : Json(nullptr);
  return {step.communicator, step.number, name_of_kind(step.call), name_of_step(step.kind),
          step.peer,         step.bytes,  nanoseconds(step.began), ended};
}

Json describe_cause(const Status& broken) {
  if (broken.ok()) return nullptr;
  const Cause& cause = broken.cause();
  return {{"code", hocket_result_name(static_cast<hocket_result>(cause.code))},
          {"message", cause.message},
          {"rank", cause.rank},
          {"peer", cause.peer},
          {"operation", cause.operation},
          {"number", cause.sequence},
          {"seconds", cause.elapsed_seconds}};
}

Json describe_communicator(const RecordedCommunicator& communicator) {
  return {{"number", communicator.identity.number},
          {"name", communicator.identity.name},
          {"ranks", communicator.identity.peers},
          {"calls", static_cast<std::int64_t>(communicator.calls)},
          {"operations", std::uint64_t{communicator.counters.operations}},
          {"bytes_sent", std::uint64_t{communicator.counters.bytes_sent}},
          {"bytes_received", std::uint64_t{communicator.counters.bytes_received}}};
}

}  // namespace

std::string record_text(const RecordOwner& owner, const Recording& recording, RecordReason reason) {
  const auto now = Deadline::Clock::now();
  const auto date = std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
  Json json{{"hocket_record", record_format_version},
            {"library", hocket_version()},
            {"reason", name_of_reason(reason)},
            {"name", owner.name},
            {"group", fmt::format("{:016x}", owner.group)},
            {"rank", owner.rank},
            {"size", owner.size},
            {"process", ProcessIdentity::own().serialise()},
            {"clock", {{"kernel", HostIdentity::own().boot}, {"steady_ns", nanoseconds(now)}, {"date_ns", date}}},
            {"cause", describe_cause(recording.broken)},
            {"processes", owner.processes}};
  Json& communicators = json["communicators"] = Json::array();
  for (const RecordedCommunicator& communicator : recording.communicators) {
    communicators.push_back(describe_communicator(communicator));
  }
  Json& operations = json["operations"] = Json::array();
  for (const RecordedOperation& operation : recording.operations) operations.push_back(describe_operation(operation));
  if (!recording.steps.empty()) {
    Json& steps = json["steps"] = Json::array();
    for (const RecordedStep& step : recording.steps) steps.push_back(describe_step(step));
  }
  Json& waits = json["waits"] = Json::array();
  for (const RecordedWait& wait : recording.waits) waits.push_back(describe_wait(wait));
  return json.dump(recording.steps.empty() ? 1 : -1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace hocket::comm
