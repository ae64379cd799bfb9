#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/doctor/clocks.hpp"
#include "tools/doctor/export.hpp"

namespace hocket::doctor {
namespace {

using Json = nlohmann::ordered_json;

Json describe(Rank rank, const Record& record, const Call& call, const ClockOffset& clock, std::int64_t origin) {
  const std::int64_t end = call.ended.value_or(record.steady);
  Json event{{"name", call.text},
             {"cat", call.kind},
             {"ph", "X"},
             {"ts", static_cast<double>(call.began + clock.nanoseconds - origin) / 1e3},
             {"dur", static_cast<double>(end - call.began) / 1e3},
             {"pid", rank},
             {"tid", call.communicator}};
  event["args"] = {
      {"number", call.number}, {"bytes", call.bytes}, {"algorithm", call.algorithm}, {"ended", call.ended.has_value()}};
  if (call.peer != no_rank) event["args"]["peer"] = call.peer;
  return event;
}

}  // namespace

std::string trace_of(const Group& group) {
  const auto clocks = align_clocks(group);
  std::int64_t origin = INT64_MAX;
  for (const auto& [rank, record] : group.records) {
    for (const Call& call : record.calls) origin = std::min(origin, call.began + clocks.at(rank).nanoseconds);
  }
  Json events = Json::array();
  for (const auto& [rank, record] : group.records) {
    const ClockOffset& clock = clocks.at(rank);
    const std::string error =
        clock.error ? fmt::format("{:.1f} us", static_cast<double>(*clock.error) / 1e3) : "unknown";
    events.push_back({{"name", "process_name"},
                      {"ph", "M"},
                      {"pid", rank},
                      {"args", {{"name", fmt::format("rank {} (clock error {})", rank, error)}}}});
    for (const auto& [number, communicator] : record.communicators) {
      events.push_back({{"name", "thread_name"},
                        {"ph", "M"},
                        {"pid", rank},
                        {"tid", number},
                        {"args", {{"name", communicator.name}}}});
    }
    for (const Call& call : record.calls) events.push_back(describe(rank, record, call, clock, origin));
  }
  return Json{{"traceEvents", events}, {"displayTimeUnit", "ns"}}.dump() + "\n";
}

}  // namespace hocket::doctor
