#include "tools/sgd/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tools/plot.hpp"
#include "tools/sgd/report.hpp"

namespace hocket::sgd {
namespace {

constexpr const char* ring_colour = "#1f5fbf";
constexpr const char* naive_colour = "#c2570c";
constexpr const char* model_colour = "#8a93a3";

constexpr const char* style = R"(
body { font: 16px/1.55 system-ui, "DejaVu Sans", sans-serif; color: #1c2430; background: #fff; max-width: 62rem; margin: 2rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .4rem; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .5rem; }
.lead { color: #4a5565; margin: 0 0 1rem; }
.formula { font: italic 1.15rem Georgia, "DejaVu Serif", serif; background: #f4f6f9; border-left: 3px solid #1f5fbf; padding: .6rem 1rem; margin: .8rem 0; }
.verdict { display: inline-block; padding: .25rem .8rem; border-radius: 1rem; font-weight: 600; background: #e3f4e8; color: #14632b; }
.doubt { background: #fff4dc; border-left: 3px solid #d08a00; padding: .4rem 1rem; }
.verdict.wrong { background: #fde4e1; color: #a11212; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(25rem, 1fr)); gap: 1rem; }
svg { width: 100%; height: auto; border: 1px solid #e3e7ed; border-radius: 6px; }
table { border-collapse: collapse; font-size: .86rem; font-variant-numeric: tabular-nums; width: 100%; }
th, td { padding: .22rem .55rem; text-align: right; border-bottom: 1px solid #e8ebf0; } td { white-space: nowrap; } th { color: #4a5565; font-weight: 600; }
tr.first td { border-top: 2px solid #cfd6e0; } td.wrong { color: #a11212; font-weight: 700; } td.words, th.words { text-align: left; }
)";

const char* colour_of(Way way) {
  return way == Way::ring ? ring_colour : naive_colour;
}

std::vector<const Measured*> of_way(const Proven& proven, Way way) {
  std::vector<const Measured*> found;
  for (const Measured& one : proven.measured) {
    if (one.way == way) found.push_back(&one);
  }
  return found;
}

// By number of ranks: the rows with the largest size.
std::vector<const Measured*> largest_of(const Proven& proven, Way way) {
  std::vector<const Measured*> found;
  for (const Measured* one : of_way(proven, way)) {
    if (found.empty() || found.back()->ranks != one->ranks) {
      found.push_back(one);
    } else if (one->bytes > found.back()->bytes) {
      found.back() = one;
    }
  }
  return found;
}

double model_of(const Proven& proven, const Measured& one) {
  const Sample sample = one.sample();
  return (one.way == Way::ring ? proven.ring : proven.naive).seconds(sample.messages, sample.bytes);
}

Axis ranks_axis(const Proven& proven) {
  std::set<int> ranks;
  for (const Measured& one : proven.measured) ranks.insert(one.ranks);
  Axis axis{.label = "ranks N"};
  for (const int number : ranks) axis.ticks.push_back({static_cast<double>(number), fmt::to_string(number)});
  if (axis.ticks.size() == 1) axis.ticks.push_back({axis.ticks[0].at + 1, ""});
  return axis;
}

Plot time_by_ranks(const Proven& proven) {
  Plot plot{.title = fmt::format("Time to sum {}: a ring beside the naive way",
                                 size_text(largest_of(proven, Way::ring).front()->bytes)),
            .x = ranks_axis(proven)};
  double most = 0;
  for (const Way way : {Way::naive, Way::ring}) {
    Series dots{way == Way::ring ? "ring" : "naive", colour_of(way), {}}, model{"", model_colour, {}, true, true};
    for (const Measured* one : largest_of(proven, way)) {
      dots.points.push_back({static_cast<double>(one->ranks), one->seconds * 1e3});
      model.points.push_back({static_cast<double>(one->ranks), model_of(proven, *one) * 1e3});
      most = std::max({most, one->seconds * 1e3, model.points.back().y});
    }
    plot.series.push_back(model);
    plot.series.push_back(dots);
  }
  plot.y = {"milliseconds (dashed: fitted formula)", ticks_to(most)};
  return plot;
}

Plot bytes_by_ranks(const Proven& proven) {
  Plot plot{.title = "Bytes that the busiest rank sends, in units of S, as counted", .x = ranks_axis(proven)};
  double most = 0;
  for (const Way way : {Way::naive, Way::ring}) {
    Series dots{way == Way::ring ? "2(N−1)/N" : "N−1", colour_of(way), {}};
    for (const Measured* one : largest_of(proven, way)) {
      dots.points.push_back(
          {static_cast<double>(one->ranks), static_cast<double>(one->sent.most) / static_cast<double>(one->bytes)});
      most = std::max(most, dots.points.back().y);
    }
    Series line = dots;
    line.label.clear();
    line.line = true;
    plot.series.push_back(line);
    plot.series.push_back(dots);
  }
  plot.y = {"sent / S", ticks_to(most)};
  return plot;
}

// Of the fewest and the most ranks.
Plot time_by_size(const Proven& proven) {
  Plot plot{.title = "Time by size: a start-up cost α, then the speed B of the link"};
  const auto rows = of_way(proven, Way::ring);
  double least_time = 1e300, most_time = 0;
  for (const Measured* one : rows) {
    least_time = std::min(least_time, std::min(one->seconds, model_of(proven, *one)) * 1e3);
    most_time = std::max(most_time, std::max(one->seconds, model_of(proven, *one)) * 1e3);
    if (one->ranks != rows.back()->ranks) continue;
    plot.x.ticks.push_back({static_cast<double>(one->bytes), size_text(one->bytes)});
  }
  if (plot.x.ticks.size() == 1) plot.x.ticks.push_back({plot.x.ticks[0].at * 2, ""});
  plot.x.label = "bytes S";
  plot.x.logarithmic = true;
  plot.y = {"milliseconds (dashed: fitted formula)", ticks_of_ten(least_time, most_time), true};
  const std::pair<int, const char*> shown[] = {{rows.front()->ranks, "#0f8a6d"}, {rows.back()->ranks, ring_colour}};
  for (const auto& [ranks, colour] : shown) {
    Series dots{fmt::format("N = {}", ranks), colour, {}}, model{"", model_colour, {}, true, true};
    for (const Measured* one : rows) {
      if (one->ranks != ranks) continue;
      dots.points.push_back({static_cast<double>(one->bytes), one->seconds * 1e3});
      model.points.push_back({static_cast<double>(one->bytes), model_of(proven, *one) * 1e3});
    }
    plot.series.push_back(model);
    plot.series.push_back(dots);
    if (rows.front()->ranks == rows.back()->ranks) break;
  }
  return plot;
}

Bars training_bars(const Proven& proven) {
  Bars bars{.title = "Where the time of a training step goes, milliseconds",
            .parts = {"computing", "waiting for gradients", "updating weights"},
            .colours = {"#7aa7e8", naive_colour, "#b9c2cf"}};
  for (const Trial& trial : proven.trials) {
    const std::string who = trial.ranks == 1 ? "1 rank" : fmt::format("{}: {}", trial.ranks, trial.exchange);
    bars.bars.push_back({who,
                         {trial.times.compute, trial.times.wait, trial.times.update},
                         fmt::format("{:.0f} ms, {:.2f}×", trial.times.total() * 1e3, trial.measured_speedup())});
  }
  return bars;
}

std::string counts_table(const Proven& proven) {
  std::string html =
      "<table><thead><tr><th>N<th>S<th>steps<th>2(N−1)<th>bytes sent by each rank<th>2(N−1)/N·S<th>time, "
      "ms<th>formula, ms<th>naive: rank 0 sends<th>naive, ms<th>slower</tr></thead><tbody>\n";
  int ranks = 0;
  for (const Measured* one : of_way(proven, Way::ring)) {
    const char* wrong = one->holds() ? "" : " class=\"wrong\"";
    html += fmt::format("<tr{}><td>{}<td>{}<td{}>{}<td>{}<td{}>{}<td>{}<td>{:.2f}<td>{:.2f}",
                        one->ranks == ranks ? "" : " class=\"first\"", one->ranks, size_text(one->bytes), wrong,
                        one->steps.most, one->expected_steps(), wrong, one->sent.most, one->expected_bytes(),
                        one->seconds * 1e3, model_of(proven, *one) * 1e3);
    if (const Measured* naive = proven.find(Way::naive, one->ranks, one->bytes)) {
      html += fmt::format("<td>{}<td>{:.2f}<td>{:.1f}×", naive->sent.most, naive->seconds * 1e3,
                          naive->seconds / one->seconds);
    }
    html += "</tr>\n";
    ranks = one->ranks;
  }
  return html + "</tbody></table>\n";
}

std::string speedup_table(const Proven& proven) {
  std::string html =
      "<table><thead><tr><th>N<th>T_comp, ms<th>T_sync, ms<th>T_sync / T_comp<th>below N−1?<th>N / (1 + T_sync/T_comp)"
      "<th>measured speed-up</tr></thead><tbody>\n";
  for (const Trial& trial : proven.trials) {
    if (trial.ranks == 1 || trial.overlaps) continue;
    html += fmt::format("<tr><td>{}<td>{:.1f}<td>{:.1f}<td>{:.2f}<td>{} {}<td>{:.2f}×<td>{:.2f}×</tr>\n", trial.ranks,
                        trial.times.compute * 1e3, trial.times.wait * 1e3, trial.ratio(),
                        trial.ratio() < trial.ranks - 1 ? "yes, below" : "no, not below", trial.ranks - 1,
                        trial.formula_speedup(), trial.measured_speedup());
  }
  return html + "</tbody></table>\n";
}

// Whether the times are as the formula says, which is another question than that of the counts.
std::string times_verdict(const Proven& proven) {
  const bool fits = proven.ring.describes() && proven.naive.describes();
  const auto percent = [](const Fit& fit) { return fmt::format("{:.0f} %", fit.median_error * 100); };
  return fmt::format(
      "<span class=\"verdict{}\">{}: it is off by {} for the ring and {} for the naive way (medians)</span>",
      fits ? "" : " wrong", fits ? "The formula describes the times" : "The formula does not describe these times",
      percent(proven.ring), percent(proven.naive));
}

std::string doubts_list(const Proven& proven) {
  std::string html;
  for (const std::string& doubt : proven.doubts()) html += fmt::format("<p class=\"doubt\">{}</p>\n", escaped(doubt));
  return html;
}

}  // namespace

std::string page(const Proven& proven) {
  const bool holds = proven.holds();
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>What a ring allreduce costs</title><style>{style}</style></head><body>\n"
      "<h1>What a ring allreduce costs, counted and timed</h1>\n"
      "<p class=\"lead\">Measured by hocket-sgd --prove. Links: {links}. Processor cores of the machine: {cores}.</p>\n"
      "<p class=\"formula\">T = 2(N−1) · (α + S/(N·B))</p>\n"
      "<p>To sum S bytes over N ranks, a ring passes parts of S/N bytes to the next neighbour: N−1 times to sum, N−1 "
      "times "
      "to spread the sums. So every rank does 2(N−1) steps and sends 2(N−1)/N·S bytes: nearly 2·S, however many ranks "
      "take "
      "part. Each step costs a start-up time α, and S/N bytes at the link's speed B. The naive way lets rank 0 receive "
      "everything and send the sum to all: its traffic grows with N.</p>\n"
      "<p><span class=\"verdict{wrong}\">{verdict}</span> {times}</p>\n"
      "<div class=\"plots\">{time_by_ranks}{bytes}{time_by_size}{bars}</div>\n"
      "<h2>The fit</h2><p>Ring, 2(N−1)·(α + S/(N·B)): {ring}.<br>Naive, 2(N−1)·(α + S/B): {naive}. (Rank 0 may receive "
      "and "
      "send at once; then B comes out larger than the link's.)<br>Each is the least Σ ((formula − time)/time)², so "
      "that short "
      "and long messages count equally (Tofallis 2008, <i>Least squares percentage regression</i>). R² is the share of "
      "the variation in times that the formula explains: 1 − Σ ((formula − time)/time)² / Σ "
      "((mean − time)/time)².</p>\n{doubts}"
      "<h2>When do more ranks pay?</h2><p>One batch shared out among N ranks takes T_comp each, plus T_sync to sum "
      "{mb:.1f} "
      "MB of gradients; alone it takes N·T_comp. So the speed-up is N / (1 + T_sync/T_comp), and there is one as long "
      "as "
      "T_sync/T_comp &lt; N−1. The formula gives every rank its own core; where ranks share cores, computing "
      "takes "
      "longer, and the measured speed-up is less.</p>\n{speedups}"
      "<h2>All counts and times</h2>\n{counts}</body></html>\n",
      fmt::arg("style", style),
      fmt::arg("links", escaped(proven.links.empty() ? "those of the launcher" : proven.links)),
      fmt::arg("cores", proven.cores), fmt::arg("wrong", holds ? "" : " wrong"),
      fmt::arg("verdict", holds ? "Every counted fact holds exactly" : "A counted fact does not hold"),
      fmt::arg("times", times_verdict(proven)), fmt::arg("time_by_ranks", to_svg(time_by_ranks(proven))),
      fmt::arg("bytes", to_svg(bytes_by_ranks(proven))), fmt::arg("time_by_size", to_svg(time_by_size(proven))),
      fmt::arg("bars", to_svg(training_bars(proven))), fmt::arg("ring", fit_text(proven.ring)),
      fmt::arg("naive", fit_text(proven.naive)), fmt::arg("doubts", doubts_list(proven)),
      fmt::arg("mb", static_cast<double>(proven.gradient_bytes) / 1e6), fmt::arg("speedups", speedup_table(proven)),
      fmt::arg("counts", counts_table(proven)));
}

}  // namespace hocket::sgd
