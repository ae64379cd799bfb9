#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "tools/doctor/clocks.hpp"
#include "tools/doctor/export.hpp"
#include "tools/doctor/messages.hpp"

namespace hocket::doctor {
namespace {

using Json = nlohmann::ordered_json;

// Tracks of steps, behind those of operations, which have the communicators' numbers.
constexpr std::uint64_t first_step_track = 1'000'000'000;

// One group's events on one time axis.
class Trace {
 public:
  explicit Trace(const Group& group) : group_(group), clocks_(align_clocks(group)) {
    for (const auto& [rank, record] : group.records) {
      for (const Call& call : record.calls) origin_ = std::min(origin_, on_axis(rank, call.began));
      for (const Step& step : record.steps) origin_ = std::min(origin_, on_axis(rank, step.began));
    }
  }

  std::string text() {
    for (const auto& [rank, record] : group_.records) {
      name_process(record);
      for (const Call& call : record.calls) add_call(record, call);
      add_steps(record);
    }
    std::uint64_t arrow = 0;
    for (const Message& message : messages_of(group_)) add_arrow(message, ++arrow);
    return Json{{"traceEvents", std::move(events_)}, {"displayTimeUnit", "ns"}}.dump() + "\n";
  }

 private:
  std::int64_t on_axis(Rank rank, std::int64_t time) const { return time + clocks_.at(rank).nanoseconds; }
  double microseconds(Rank rank, std::int64_t time) const {
    return static_cast<double>(on_axis(rank, time) - origin_) / 1e3;
  }

  void name(std::string_view what, Rank rank, std::uint64_t track, const std::string& name) {
    events_.push_back({{"name", what}, {"ph", "M"}, {"pid", rank}, {"tid", track}, {"args", {{"name", name}}}});
  }

  void name_process(const Record& record) {
    const auto& error = clocks_.at(record.rank).error;
    const std::string text = error ? fmt::format("{:.1f} us", static_cast<double>(*error) / 1e3) : "unknown";
    name("process_name", record.rank, 0, fmt::format("rank {} (clock error {})", record.rank, text));
    for (const auto& [number, communicator] : record.communicators) {
      name("thread_name", record.rank, number, communicator.name);
    }
  }

  // One that has not ended lasts until the record was written.
  Json slice(const Record& record, std::int64_t began, std::optional<std::int64_t> ended, std::uint64_t track) const {
    return {{"ph", "X"},
            {"ts", microseconds(record.rank, began)},
            {"dur", static_cast<double>(ended.value_or(record.steady) - began) / 1e3},
            {"pid", record.rank},
            {"tid", track}};
  }

  void add_call(const Record& record, const Call& call) {
    Json event = slice(record, call.began, call.exact ? call.ended : call.began, call.communicator);
    event["name"] = call.text;
    event["cat"] = call.kind;
    event["args"] = {{"number", call.number},
                     {"bytes", call.bytes},
                     {"algorithm", call.algorithm},
                     {"ended", call.ended.has_value()},
                     {"exact", call.exact}};
    if (call.peer != no_rank) event["args"]["peer"] = call.peer;
    events_.push_back(std::move(event));
  }

  // Steps run side by side, and slices of one track may not overlap: each goes to the first track that is free.
  void add_steps(const Record& record) {
    std::vector<std::int64_t> free_at;
    for (const Step& step : record.steps) {
      std::size_t lane = 0;
      while (lane < free_at.size() && free_at[lane] > step.began) ++lane;
      if (lane == free_at.size()) {
        free_at.push_back(0);
        name("thread_name", record.rank, first_step_track + lane, fmt::format("steps {}", lane + 1));
      }
      free_at[lane] = step.ended.value_or(record.steady);
      track_of_[&step] = first_step_track + lane;
      add_step(record, step);
    }
  }

  void add_step(const Record& record, const Step& step) {
    Json event = slice(record, step.began, step.ended, track_of_.at(&step));
    const std::string_view word = step.sends() ? " to" : " from";
    event["name"] = step.peer == no_rank ? step.kind : fmt::format("{}{} {}", step.kind, word, step.peer);
    event["cat"] = "step";
    event["args"] = {{"communicator", step.communicator},
                     {"call", step.number},
                     {"bytes", step.bytes},
                     {"ended", step.ended.has_value()}};
    if (step.peer != no_rank) event["args"]["peer"] = step.peer;
    events_.push_back(std::move(event));
  }

  // From where a message was handed over to where it had come.
  void add_arrow(const Message& message, std::uint64_t number) {
    if (!message.received->ended) return;
    const auto end = [&](std::string_view phase, const Record& record, const Step& step, std::int64_t at) {
      return Json{{"name", "message"},
                  {"cat", "message"},
                  {"ph", phase},
                  {"id", number},
                  {"pid", record.rank},
                  {"tid", track_of_.at(&step)},
                  {"ts", microseconds(record.rank, at)}};
    };
    events_.push_back(end("s", *message.sender, *message.sent, message.sent->began));
    Json head = end("f", *message.receiver, *message.received, *message.received->ended);
    head["bp"] = "e";
    events_.push_back(std::move(head));
  }

  const Group& group_;
  const std::map<Rank, ClockOffset> clocks_;
  std::int64_t origin_ = INT64_MAX;
  std::map<const Step*, std::uint64_t> track_of_;
  Json events_ = Json::array();
};

}  // namespace

std::string trace_of(const Group& group) {
  return Trace(group).text();
}

}  // namespace hocket::doctor
