#include "tools/plan/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

namespace hocket {
namespace {

double microseconds(Picoseconds time) {
  return static_cast<double>(time) * 1e-6;
}

std::string_view colour_of(const Activity& activity) {
  if (activity.on_wire) return "#9ecae1";
  switch (activity.kind) {
    case StepKind::send: return "#3182bd";
    case StepKind::recv: return "#31a354";
    case StepKind::recv_reduce: return "#e6550d";
    case StepKind::copy: return "#969696";
    case StepKind::reduce: return "#fdae6b";
  }
  return "#000000";
}

std::vector<bool> on_critical_path(const Simulation& run) {
  std::vector<bool> critical(run.activities.size());
  for (const std::uint32_t index : run.critical) critical[index] = true;
  return critical;
}

}  // namespace

std::string name_of_activity(const Activity& activity) {
  const auto& [rank, step, kind, on_wire, peer, bytes, begin, end, after] = activity;
  const std::string tail = fmt::format(" (step {})", step);
  if (on_wire) return fmt::format("{} bytes on the way from rank {} to rank {}{}", bytes, rank, peer, tail);
  switch (kind) {
    case StepKind::send: return fmt::format("rank {} sends {} bytes to rank {}{}", rank, bytes, peer, tail);
    case StepKind::recv: return fmt::format("rank {} receives {} bytes from rank {}{}", rank, bytes, peer, tail);
    case StepKind::recv_reduce: return fmt::format("rank {} reduces {} bytes from rank {}{}", rank, bytes, peer, tail);
    case StepKind::copy: return fmt::format("rank {} copies {} bytes{}", rank, bytes, tail);
    case StepKind::reduce: return fmt::format("rank {} reduces {} bytes{}", rank, bytes, tail);
  }
  return {};
}

void write_trace(const Network& network, const Simulation& run, std::ostream& out) {
  using nlohmann::json;
  json events = json::array();
  const auto name = [&](std::string_view what, Rank host, int thread, const std::string& text) {
    events.push_back({{"ph", "M"}, {"name", what}, {"pid", host}, {"tid", thread}, {"args", {{"name", text}}}});
  };
  for (Rank rank = 0; rank < network.size(); ++rank) {
    const Rank host = network.host_of(rank);
    name("process_name", host, 2 * rank, fmt::format("host {}", host));
    name("thread_name", host, 2 * rank, fmt::format("rank {}", rank));
    name("thread_name", host, 2 * rank + 1, fmt::format("rank {}, on the way", rank));
  }
  const std::vector<bool> critical = on_critical_path(run);
  for (std::size_t i = 0; i < run.activities.size(); ++i) {
    const Activity& activity = run.activities[i];
    events.push_back({{"ph", "X"},
                      {"name", name_of_activity(activity)},
                      {"cat", critical[i] ? "critical path" : "other"},
                      {"pid", network.host_of(activity.rank)},
                      {"tid", 2 * activity.rank + (activity.on_wire ? 1 : 0)},
                      {"ts", microseconds(activity.begin)},
                      {"dur", microseconds(activity.end - activity.begin)},
                      {"args", {{"step", activity.step}, {"bytes", activity.bytes}, {"critical", bool{critical[i]}}}}});
  }
  out << json{{"displayTimeUnit", "ns"}, {"traceEvents", events}}.dump() << '\n';
}

void write_svg(const Network& network, const Simulation& run, std::ostream& out) {
  constexpr int width = 1200, left = 70, row = 28, top = 30;
  const double scale = (width - left - 10) / std::max(microseconds(run.time), 1e-9);
  const int height = top + row * network.size() + 30;
  out << fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"{2}\" y=\"18\">{3:.3f} us; blue: send, green: receive, orange: receive and reduce, pale: on the way, "
      "outlined: critical path</text>\n",
      width, height, left, microseconds(run.time));
  for (Rank rank = 0; rank < network.size(); ++rank) {
    out << fmt::format("<text x=\"4\" y=\"{}\">rank {}</text>\n", top + row * rank + 16, rank);
  }
  const std::vector<bool> critical = on_critical_path(run);
  for (std::size_t i = 0; i < run.activities.size(); ++i) {
    const Activity& activity = run.activities[i];
    out << fmt::format(
        "<rect x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"11\" fill=\"{}\"{}><title>{}, {:.3f} to {:.3f} "
        "us</title></rect>\n",
        left + microseconds(activity.begin) * scale, top + row * activity.rank + (activity.on_wire ? 13 : 1),
        std::max(microseconds(activity.end - activity.begin) * scale, 0.3), colour_of(activity),
        critical[i] ? " stroke=\"black\"" : "", name_of_activity(activity), microseconds(activity.begin),
        microseconds(activity.end));
  }
  out << "</svg>\n";
}

}  // namespace hocket
