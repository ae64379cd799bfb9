// The one place that writes SVG: plots and timelines are made of what stands here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/markup.hpp"

namespace hocket {

// A mark on an axis.
struct Tick {
  double at = 0;
  std::string text;
};

// Round numbers from 0 to at least `largest`; logarithmic: powers of ten round smallest and largest.
std::vector<Tick> ticks_to(double largest);
std::vector<Tick> ticks_of_ten(double smallest, double largest);

// Collects shapes, the later ones in front. Classes of text: title, tick, label; end and middle say where it is
// anchored.
class Svg {
 public:
  // With the title in the upper left corner.
  Svg(double width, double height, const std::string& title);

  void text(double x, double y, std::string_view classes, std::string_view text, std::string_view colour = "");
  void text_upwards(double x, double y, std::string_view classes, std::string_view text);
  // A line of the grid, from one point to another.
  void grid(double x, double y, double to_x, double to_y);
  // With `about`, which shows where a pointer rests on it; `outlined`: in black.
  void rectangle(double x, double y, double width, double height, std::string_view colour, std::string_view about = "",
                 bool outlined = false);
  void dot(double x, double y, std::string_view colour);
  void line(const std::vector<std::pair<double, double>>& points, std::string_view colour, bool dashed);
  // A square of the colour and what it stands for. Returns where the next one may begin.
  double legend(double x, double y, std::string_view colour, std::string_view text);

  // The whole drawing, which needs nothing else; to be called once.
  std::string finish();

 private:
  std::string svg_;
};

}  // namespace hocket
