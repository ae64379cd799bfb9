// Plots as SVG, to stand in a page.
#pragma once

#include <string>
#include <vector>

namespace hocket::sgd {

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

struct Tick {
  double at = 0;
  std::string text;
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

// Round numbers from 0 to at least `largest`; logarithmic: powers of ten round smallest and largest.
std::vector<Tick> ticks_to(double largest);
std::vector<Tick> ticks_of_ten(double smallest, double largest);

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

}  // namespace hocket::sgd
