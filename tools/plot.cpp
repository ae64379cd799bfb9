#include "tools/plot.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace hocket {
namespace {

constexpr double width = 560, height = 340;
constexpr double left = 66, right = 96, top = 40, bottom = 52;

// Where a value lies between the ends of an axis, from 0 to 1.
double share_of(const Axis& axis, double value) {
  const double low = axis.ticks.front().at, high = axis.ticks.back().at;
  if (axis.logarithmic) return std::log(value / low) / std::log(high / low);
  return (value - low) / (high - low);
}

double x_of(const Plot& plot, double value) {
  return left + share_of(plot.x, value) * (width - left - right);
}

double y_of(const Plot& plot, double value) {
  return height - bottom - share_of(plot.y, value) * (height - top - bottom);
}

void draw_axes(Svg& svg, const Plot& plot) {
  for (const Tick& tick : plot.y.ticks) {
    const double y = y_of(plot, tick.at);
    svg.grid(left, y, width - right, y);
    svg.text(left - 7, y + 4, "tick end", tick.text);
  }
  for (const Tick& tick : plot.x.ticks) {
    svg.text(x_of(plot, tick.at), height - bottom + 18, "tick middle", tick.text);
  }
  svg.text((left + width - right) / 2, height - 10, "tick middle", plot.x.label);
  svg.text_upwards(14, (top + height - bottom) / 2, "tick middle", plot.y.label);
}

void draw(Svg& svg, const Plot& plot, const Series& series) {
  std::vector<std::pair<double, double>> places;
  for (const Point& point : series.points) places.emplace_back(x_of(plot, point.x), y_of(plot, point.y));
  if (series.line) {
    svg.line(places, series.colour, series.dashed);
  } else {
    for (const auto& [x, y] : places) svg.dot(x, y, series.colour);
  }
  if (!series.label.empty() && !places.empty()) {
    svg.text(places.back().first + 9, places.back().second + 4, "label", series.label, series.colour);
  }
}

}  // namespace

std::string to_svg(const Plot& plot) {
  Svg svg(width, height, plot.title);
  draw_axes(svg, plot);
  for (const Series& series : plot.series) draw(svg, plot, series);
  return svg.finish();
}

std::string to_svg(const Bars& bars) {
  constexpr double row = 25, labels = 232, numbers = 128;
  Svg svg(width, 78 + row * static_cast<double>(bars.bars.size()), bars.title);
  double largest = 0;
  for (const Bar& bar : bars.bars) {
    largest = std::max(largest, std::accumulate(bar.parts.begin(), bar.parts.end(), 0.0));
  }
  double x = 12, y = 60;
  for (std::size_t i = 0; i < bars.parts.size(); ++i) x = svg.legend(x, 34, bars.colours[i], bars.parts[i]);
  for (const Bar& bar : bars.bars) {
    svg.text(labels - 8, y + 13, "tick end", bar.label);
    x = labels;
    for (std::size_t i = 0; i < bar.parts.size(); ++i) {
      const double long_as = bar.parts[i] / largest * (width - labels - numbers);
      svg.rectangle(x, y, long_as, 17, bars.colours[i]);
      x += long_as;
    }
    svg.text(x + 7, y + 13, "tick", bar.text);
    y += row;
  }
  return svg.finish();
}

}  // namespace hocket
