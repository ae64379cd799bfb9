#include "tools/sgd/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hocket::sgd {
namespace {

constexpr double width = 560, height = 340;
constexpr double left = 66, right = 96, top = 40, bottom = 52;

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char letter : text) {
    switch (letter) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      default: safe += letter;
    }
  }
  return safe;
}

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

std::string begin(double high, const std::string& title) {
  return fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" role=\"img\" aria-label=\"{2}\"><text x=\"12\" y=\"20\" "
      "class=\"title\">{2}</text>\n",
      width, high, escaped(title));
}

std::string axes(const Plot& plot) {
  std::string svg;
  for (const Tick& tick : plot.y.ticks) {
    const double y = y_of(plot, tick.at);
    svg += fmt::format(
        "<path d=\"M{} {:.1f}H{}\" class=\"grid\"/><text x=\"{}\" y=\"{:.1f}\" class=\"tick end\">{}</text>\n", left, y,
        width - right, left - 7, y + 4, escaped(tick.text));
  }
  for (const Tick& tick : plot.x.ticks) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" class=\"tick middle\">{}</text>\n", x_of(plot, tick.at),
                       height - bottom + 18, escaped(tick.text));
  }
  svg += fmt::format("<text x=\"{}\" y=\"{}\" class=\"tick middle\">{}</text>\n", (left + width - right) / 2,
                     height - 10, escaped(plot.x.label));
  svg += fmt::format("<text transform=\"translate(14 {}) rotate(-90)\" class=\"tick middle\">{}</text>\n",
                     (top + height - bottom) / 2, escaped(plot.y.label));
  return svg;
}

std::string draw(const Plot& plot, const Series& series) {
  std::string svg;
  if (series.line) {
    std::string path;
    for (const Point& point : series.points) {
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x_of(plot, point.x), y_of(plot, point.y));
    }
    svg += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{}/>\n", path, series.colour,
                       series.dashed ? " stroke-dasharray=\"5 4\"" : "");
  } else {
    for (const Point& point : series.points) {
      svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"/>\n", x_of(plot, point.x),
                         y_of(plot, point.y), series.colour);
    }
  }
  if (!series.label.empty() && !series.points.empty()) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"label\" fill=\"{}\">{}</text>\n",
                       x_of(plot, series.points.back().x) + 9, y_of(plot, series.points.back().y) + 4, series.colour,
                       escaped(series.label));
  }
  return svg;
}

}  // namespace

std::vector<Tick> ticks_to(double largest) {
  const double rough = largest / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= rough) step = factor * power;
  }
  std::vector<Tick> ticks;
  for (int i = 0; ticks.empty() || ticks.back().at < largest; ++i)
    ticks.push_back({i * step, fmt::format("{:g}", i * step)});
  return ticks;
}

std::vector<Tick> ticks_of_ten(double smallest, double largest) {
  std::vector<Tick> ticks;
  for (int power = static_cast<int>(std::floor(std::log10(smallest)));; ++power) {
    ticks.push_back({std::pow(10, power), fmt::format("{:g}", std::pow(10, power))});
    if (ticks.size() > 1 && ticks.back().at >= largest) return ticks;
  }
}

std::string to_svg(const Plot& plot) {
  std::string svg = begin(height, plot.title) + axes(plot);
  for (const Series& series : plot.series) svg += draw(plot, series);
  return svg + "</svg>\n";
}

std::string to_svg(const Bars& bars) {
  constexpr double row = 25, labels = 232, numbers = 128;
  const double high = 78 + row * static_cast<double>(bars.bars.size());
  std::string svg = begin(high, bars.title);
  double largest = 0;
  for (const Bar& bar : bars.bars)
    largest = std::max(largest, std::accumulate(bar.parts.begin(), bar.parts.end(), 0.0));
  double x = 12;
  for (std::size_t i = 0; i < bars.parts.size(); ++i) {
    svg += fmt::format(
        "<rect x=\"{}\" y=\"34\" width=\"11\" height=\"11\" rx=\"2\" fill=\"{}\"/>"
        "<text x=\"{}\" y=\"44\" class=\"tick\">{}</text>\n",
        x, bars.colours[i], x + 16, escaped(bars.parts[i]));
    x += 34 + 7 * static_cast<double>(bars.parts[i].size());
  }
  double y = 60;
  for (const Bar& bar : bars.bars) {
    svg +=
        fmt::format("<text x=\"{}\" y=\"{}\" class=\"tick end\">{}</text>\n", labels - 8, y + 13, escaped(bar.label));
    x = labels;
    for (std::size_t i = 0; i < bar.parts.size(); ++i) {
      const double long_as = bar.parts[i] / largest * (width - labels - numbers);
      svg += fmt::format("<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"17\" fill=\"{}\"/>\n", x, y, long_as,
                         bars.colours[i]);
      x += long_as;
    }
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" class=\"tick\">{}</text>\n", x + 7, y + 13, escaped(bar.text));
    y += row;
  }
  return svg + "</svg>\n";
}

}  // namespace hocket::sgd
