#include "tools/svg.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace hocket {
namespace {

constexpr std::string_view style =
    "svg{font-family:system-ui,\"DejaVu Sans\",sans-serif}.title{font-size:15px;font-weight:600;fill:#1c2430}"
    ".tick{font-size:12px;fill:#4a5565}.label{font-size:12px;font-weight:600}.end{text-anchor:end}"
    ".middle{text-anchor:middle}.grid{stroke:#e3e7ed;fill:none}";

}  // namespace

std::vector<Tick> ticks_to(double largest) {
  const double rough = largest / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= rough) step = factor * power;
  }
  std::vector<Tick> ticks;
  for (int i = 0; ticks.empty() || ticks.back().at < largest; ++i) {
    ticks.push_back({i * step, fmt::format("{:g}", i * step)});
  }
  return ticks;
}

std::vector<Tick> ticks_of_ten(double smallest, double largest) {
  std::vector<Tick> ticks;
  for (int power = static_cast<int>(std::floor(std::log10(smallest)));; ++power) {
    ticks.push_back({std::pow(10, power), fmt::format("{:g}", std::pow(10, power))});
    if (ticks.size() > 1 && ticks.back().at >= largest) return ticks;
  }
}

Svg::Svg(double width, double height, const std::string& title)
    : svg_(fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
                       "role=\"img\" aria-label=\"{2}\"><style>{3}</style>\n"
                       "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
                       width, height, escaped(title), style)) {
  text(12, 20, "title", title);
}

void Svg::text(double x, double y, std::string_view classes, std::string_view text, std::string_view colour) {
  svg_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\"{}>{}</text>\n", x, y, classes,
                      colour.empty() ? "" : fmt::format(" fill=\"{}\"", colour), escaped(text));
}

void Svg::text_upwards(double x, double y, std::string_view classes, std::string_view text) {
  svg_ += fmt::format("<text transform=\"translate({:.1f} {:.1f}) rotate(-90)\" class=\"{}\">{}</text>\n", x, y,
                      classes, escaped(text));
}

void Svg::grid(double x, double y, double to_x, double to_y) {
  svg_ += fmt::format("<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" class=\"grid\"/>\n", x, y, to_x, to_y);
}

void Svg::rectangle(double x, double y, double width, double height, std::string_view colour, std::string_view about,
                    bool outlined) {
  svg_ += fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"{}", x, y, width,
                      height, colour, outlined ? " stroke=\"black\"" : "");
  svg_ += about.empty() ? "/>\n" : fmt::format("><title>{}</title></rect>\n", escaped(about));
}

void Svg::dot(double x, double y, std::string_view colour) {
  svg_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"/>\n", x, y, colour);
}

void Svg::line(const std::vector<std::pair<double, double>>& points, std::string_view colour, bool dashed) {
  std::string path;
  for (const auto& [x, y] : points) path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x, y);
  svg_ += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{}/>\n", path, colour,
                      dashed ? " stroke-dasharray=\"5 4\"" : "");
}

double Svg::legend(double x, double y, std::string_view colour, std::string_view text) {
  constexpr double square = 11, letter = 7;
  rectangle(x, y, square, square, colour);
  this->text(x + 16, y + 10, "tick", text);
  return x + 34 + letter * static_cast<double>(text.size());
}

std::string Svg::finish() {
  return std::move(svg_) + "</svg>\n";
}

}  // namespace hocket
