#include "src/comm/report_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "src/base/process_identity.hpp"

namespace hocket::comm {
namespace {

using Json = nlohmann::ordered_json;

constexpr int report_format_version = 1;
constexpr std::size_t awaited_max = 16;

double seconds_since(Deadline::Clock::time_point time) {
  return std::chrono::duration<double>(Deadline::Clock::now() - time).count();
}

Json describe_latest(const Recording& recording) {
  if (recording.operations.empty()) return nullptr;
  const RecordedOperation& latest = recording.operations.back();
  return {{"call", describe(latest.tag.call)},
          {"number", latest.tag.sequence},
          {"ended", latest.ended.has_value()},
          {"exact", latest.exact},
          {"seconds", seconds_since(latest.exact ? latest.ended.value_or(latest.began) : latest.began)}};
}

Json describe_recording(const Recording& recording) {
  const auto begun = std::ranges::find_if(recording.waits, &RecordedWait::begun);
  if (begun == recording.waits.end() || !recording.broken.ok()) return nullptr;
  std::vector<Rank> awaited = begun->awaited;
  awaited.resize(std::min(awaited.size(), awaited_max));
  return {{"call", describe(begun->tag.call)},
          {"number", begun->tag.sequence},
          {"seconds", begun->seconds},
          {"awaited", awaited}};
}

}  // namespace

std::string report_text(const std::string& job, const RecordOwner& owner, const Recording& recording) {
  Counters all;
  for (const RecordedCommunicator& communicator : recording.communicators) {
    all.operations += communicator.counters.operations;
    all.bytes_sent += communicator.counters.bytes_sent;
    all.bytes_received += communicator.counters.bytes_received;
  }
  const auto date = std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
  const Json broken = recording.broken.ok() ? Json(nullptr) : Json(recording.broken.message());
  return Json{{"hocket_report", report_format_version},
              {"job", job},
              {"name", owner.name},
              {"group", fmt::format("{:016x}", owner.group)},
              {"rank", owner.rank},
              {"size", owner.size},
              {"process", ProcessIdentity::own().describe()},
              {"date_ns", date},
              {"broken", broken},
              {"calls", static_cast<std::int64_t>(recording.communicators.front().calls)},
              {"operations", std::uint64_t{all.operations}},
              {"bytes_sent", std::uint64_t{all.bytes_sent}},
              {"bytes_received", std::uint64_t{all.bytes_received}},
              {"latest", describe_latest(recording)},
              {"waits", describe_recording(recording)}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace hocket::comm
