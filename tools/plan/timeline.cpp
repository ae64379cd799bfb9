#include "tools/plan/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tools/svg.hpp"

namespace hocket {
namespace {

std::string_view colour_of(const Activity& activity) {
  if (activity.on_wire) return "#9467bd";
  switch (activity.kind) {
    case StepKind::send: return "#3182bd";
    case StepKind::recv: return "#31a354";
    case StepKind::recv_reduce: return "#e6550d";
    case StepKind::copy: return "#969696";
    case StepKind::reduce: return "#fdae6b";
  }
  return "#000000";
}

// What is drawn where. A rank's row has one track for its processor, and as many lanes for what it has on the way as
// messages are on their way at once: no two parts of one of them overlap.
struct Drawing {
  struct Row {
    Rank rank = 0;
    int track = 0;  // of the processor, among all rows' tracks; those of the lanes follow
    int lanes = 0;
  };
  struct Part {
    Activity activity;
    std::size_t row = 0;
    int lane = 0;  // on the way: of the row's
    bool critical = false;
  };

  explicit Drawing(const Simulation& run) {
    const DrawnPart selection = select(run);
    for (const Rank rank : selection.ranks) rows.push_back({.rank = rank});
    selection.whole ? add_all(run) : add_critical(run, selection.every);
    std::ranges::stable_sort(parts, {}, [](const Part& part) { return part.activity.begin; });
    assign_lanes();
  }

  std::vector<Row> rows;
  std::vector<Part> parts;  // as they begin

 private:
  // Of every row what the rank that stands for it does.
  void add_all(const Simulation& run) {
    std::vector<std::vector<std::size_t>> rows_of(static_cast<std::size_t>(run.period));
    for (std::size_t row = 0; row < rows.size(); ++row) {
      rows_of[static_cast<std::size_t>(rows[row].rank % run.period)].push_back(row);
    }
    std::vector<ActivityRef> critical = run.critical;
    std::ranges::sort(critical);
    for (std::uint32_t index = 0; index < run.activities.size(); ++index) {
      for (const std::size_t row : rows_of[static_cast<std::size_t>(run.activities[index].rank)]) {
        const ActivityRef ref{index, rows[row].rank - rows[row].rank % run.period};
        parts.push_back(
            {.activity = run.activity(ref), .row = row, .critical = std::ranges::binary_search(critical, ref)});
      }
    }
  }

  void add_critical(const Simulation& run, std::size_t every) {
    for (std::size_t i = 0; i < run.critical.size(); i += every) {
      const Activity activity = run.activity(run.critical[i]);
      const auto row = std::ranges::lower_bound(rows, activity.rank, {}, &Row::rank);
      if (row == rows.end() || row->rank != activity.rank) continue;
      parts.push_back({.activity = activity, .row = static_cast<std::size_t>(row - rows.begin()), .critical = true});
    }
  }

  // Each message takes the first lane that is free.
  void assign_lanes() {
    std::vector<std::vector<Picoseconds>> free_at(rows.size());
    for (Part& part : parts) {
      if (!part.activity.on_wire) continue;
      std::vector<Picoseconds>& lanes = free_at[part.row];
      const auto lane = std::ranges::find_if(lanes, [&](Picoseconds since) { return since <= part.activity.begin; });
      part.lane = static_cast<int>(lane - lanes.begin());
      if (lane == lanes.end()) lanes.emplace_back();
      lanes[static_cast<std::size_t>(part.lane)] = part.activity.end;
    }
    int track = 0;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      rows[row].track = track;
      rows[row].lanes = static_cast<int>(free_at[row].size());
      track += 1 + rows[row].lanes;
    }
  }
};

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

DrawnPart select(const Simulation& run) {
  DrawnPart made;
  if (run.ranks <= timeline_ranks_max) {
    made.ranks.resize(static_cast<std::size_t>(run.ranks));
    std::iota(made.ranks.begin(), made.ranks.end(), 0);
  } else {
    std::vector<Rank> visited;  // in the order of their first parts
    std::unordered_set<Rank> seen;
    for (const ActivityRef& part : run.critical) {
      const Rank rank = run.activity(part).rank;
      if (seen.insert(rank).second) visited.push_back(rank);
    }
    const std::size_t drawn = std::min(visited.size(), static_cast<std::size_t>(timeline_ranks_max));
    for (std::size_t i = 0; i < drawn; ++i) made.ranks.push_back(visited[i * visited.size() / drawn]);
    std::ranges::sort(made.ranks);
  }
  std::vector<std::size_t> drawn_of(static_cast<std::size_t>(run.period));  // by the rank that stands for them
  for (const Rank rank : made.ranks) ++drawn_of[static_cast<std::size_t>(rank % run.period)];
  std::size_t parts = 0;
  for (const Activity& activity : run.activities) parts += drawn_of[static_cast<std::size_t>(activity.rank)];
  made.whole = run.every == 1 && parts <= timeline_parts_max;
  if (made.whole) return made;
  std::size_t critical = 0;
  for (const ActivityRef& part : run.critical) {
    critical += std::ranges::binary_search(made.ranks, run.activity(part).rank);
  }
  made.every = std::max<std::size_t>((critical + timeline_parts_max - 1) / timeline_parts_max, 1);
  return made;
}

void write_trace(const Network& network, const Simulation& run, std::ostream& out) {
  using nlohmann::json;
  const Drawing drawing(run);
  std::string_view separator = "";
  const auto add = [&](const json& event) {  // one by one, for there may be millions
    out << separator << event.dump();
    separator = ",\n";
  };
  const auto name = [&](std::string_view what, Rank host, int thread, const std::string& text) {
    add({{"ph", "M"}, {"name", what}, {"pid", host}, {"tid", thread}, {"args", {{"name", text}}}});
  };
  out << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  for (const Drawing::Row& row : drawing.rows) {
    const Rank host = network.host_of(row.rank);
    name("process_name", host, row.track, fmt::format("host {}", host));
    name("thread_name", host, row.track, fmt::format("rank {}", row.rank));
    for (int lane = 0; lane < row.lanes; ++lane) {
      name("thread_name", host, row.track + 1 + lane, fmt::format("rank {}, on the way", row.rank));
    }
  }
  for (const Drawing::Part& part : drawing.parts) {
    const Activity& activity = part.activity;
    const Drawing::Row& row = drawing.rows[part.row];
    add({{"ph", "X"},
         {"name", name_of_activity(activity)},
         {"cat", part.critical ? "critical path" : "other"},
         {"pid", network.host_of(activity.rank)},
         {"tid", row.track + (activity.on_wire ? 1 + part.lane : 0)},
         {"ts", microseconds(activity.begin)},
         {"dur", microseconds(activity.end - activity.begin)},
         {"args", {{"step", activity.step}, {"bytes", activity.bytes}, {"critical", part.critical}}}});
  }
  out << "]}\n";
}

namespace {

// Where a timeline's rows lie. Messages on their way have lanes of their own below the bar of the processor.
struct Rows {
  static constexpr double width = 1200, left = 78, right = 24, top = 64, bar = 12, lane_least = 4, lanes_least = 12,
                          gap = 8;

  explicit Rows(const Drawing& drawing) {
    double at = top;
    for (const Drawing::Row& row : drawing.rows) {
      tops.push_back(at);
      lanes.push_back(std::max(lane_least, lanes_least / std::max(row.lanes, 1)));
      at += bar + lanes.back() * std::max(row.lanes, 1) + gap;
    }
    bottom = at;
  }

  std::vector<double> tops, lanes;  // by row: where it begins, and how high each of its lanes is
  double bottom = 0;
};

void draw_frame(Svg& svg, const Drawing& drawing, const Rows& rows, const std::vector<Tick>& ticks) {
  double x = Rows::left;
  const std::pair<StepKind, const char*> work[] = {{StepKind::send, "send"},
                                                   {StepKind::recv, "receive"},
                                                   {StepKind::recv_reduce, "receive and reduce"},
                                                   {StepKind::reduce, "reduce"},
                                                   {StepKind::copy, "copy"}};
  for (const auto& [kind, text] : work) x = svg.legend(x, 34, colour_of({.kind = kind}), text);
  x = svg.legend(x, 34, colour_of({.on_wire = true}), "message on its way");
  svg.text(x, 44, "tick", "outlined: critical path");
  for (const Tick& tick : ticks) {
    const double at = Rows::left + tick.at / ticks.back().at * (Rows::width - Rows::left - Rows::right);
    svg.grid(at, Rows::top - 4, at, rows.bottom);
    svg.text(at, rows.bottom + 16, "tick middle", tick.text);
  }
  svg.text((Rows::left + Rows::width - Rows::right) / 2, rows.bottom + 36, "tick middle", "time in microseconds");
  for (std::size_t row = 0; row < rows.tops.size(); ++row) {
    svg.text(Rows::left - 8, rows.tops[row] + 11, "tick end", fmt::format("rank {}", drawing.rows[row].rank));
  }
}

}  // namespace

void write_svg(const std::string& title, const Simulation& run, std::ostream& out) {
  const Drawing drawing(run);
  const Rows rows(drawing);
  const auto ticks = ticks_to(std::max(microseconds(run.time), 1e-6));
  Svg svg(Rows::width, rows.bottom + 48, fmt::format("{}: {:.3f} us", title, microseconds(run.time)));
  draw_frame(svg, drawing, rows, ticks);
  const double scale = (Rows::width - Rows::left - Rows::right) / ticks.back().at;
  for (const Drawing::Part& part : drawing.parts) {
    const Activity& activity = part.activity;
    const double lane = rows.lanes[part.row], least = 0.6;  // wide enough to be seen
    svg.rectangle(Rows::left + microseconds(activity.begin) * scale,
                  rows.tops[part.row] + (activity.on_wire ? Rows::bar + 1 + lane * part.lane : 0),
                  std::max(microseconds(activity.end - activity.begin) * scale, least),
                  activity.on_wire ? lane - 1 : Rows::bar, colour_of(activity),
                  fmt::format("{}, {:.3f} to {:.3f} us", name_of_activity(activity), microseconds(activity.begin),
                              microseconds(activity.end)),
                  part.critical);
  }
  out << svg.finish();
}

}  // namespace hocket
