// Plots as SVG: points and lines over two axes, and bars.
#pragma once

#include <string>
#include <vector>

#include "tools/svg.hpp"

namespace hocket {

struct Point {
  double x = 0, y = 0;
};

struct Series {
  std::string label;  // written at the last point; empty: none
  std::string colour;
  std::vector<Point> points;
  bool line = false;  // else dots
  bool dashed = false;
};

struct Axis {
  std::string label;
  std::vector<Tick> ticks;  // the axis goes from the first to the last
  bool logarithmic = false;
};

struct Plot {
  std::string title;  // says what is to be seen
  Axis x, y;
  std::vector<Series> series;
};

std::string to_svg(const Plot& plot);

// A bar for each row, made of parts side by side.
struct Bar {
  std::string label;
  std::vector<double> parts;
  std::string text;  // behind the bar
};
struct Bars {
  std::string title;
  std::vector<std::string> parts, colours;  // names and colours of the parts
  std::vector<Bar> bars;
};
std::string to_svg(const Bars& bars);

}  // namespace hocket
