// Digits as a pen draws them: each is a few lines and arcs, moved and bent a little by chance.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "tools/sgd/data.hpp"
#include "tools/sgd/random.hpp"

namespace hocket::sgd {
namespace {

constexpr std::size_t side = 28;

struct Point {
  float x = 0, y = 0;
};
using Stroke = std::vector<Point>;

// An arc round (x, y); angles in degrees, 0 to the right, 90 down, as y grows downwards.
Stroke arc(float x, float y, float width, float height, float from, float to) {
  constexpr int pieces = 14;
  Stroke points;
  for (int i = 0; i <= pieces; ++i) {
    const float angle = (from + (to - from) * static_cast<float>(i) / pieces) * std::numbers::pi_v<float> / 180;
    points.push_back({x + width * std::cos(angle), y + height * std::sin(angle)});
  }
  return points;
}

// Within a box from (-1, -1) at the top left to (1, 1) at the bottom right.
std::vector<Stroke> strokes_of(std::uint8_t digit) {
  switch (digit) {
    case 0: return {arc(0, 0, 0.62F, 0.95F, 0, 360)};
    case 1: return {{{-0.35F, -0.6F}, {0.05F, -0.95F}, {0.05F, 0.95F}}};
    case 2: return {arc(0, -0.45F, 0.58F, 0.5F, 190, 395), {{0.47F, -0.16F}, {-0.6F, 0.92F}, {0.65F, 0.92F}}};
    case 3: return {arc(-0.05F, -0.48F, 0.55F, 0.46F, 200, 450), arc(-0.05F, 0.46F, 0.62F, 0.48F, 270, 520)};
    case 4: return {{{0.3F, 0.95F}, {0.3F, -0.95F}, {-0.65F, 0.35F}, {0.7F, 0.35F}}};
    case 5: return {{{0.55F, -0.93F}, {-0.45F, -0.93F}, {-0.52F, -0.1F}}, arc(-0.02F, 0.36F, 0.62F, 0.58F, 220, 500)};
    case 6: return {arc(0.35F, 0.3F, 0.9F, 1.25F, 180, 262), arc(0, 0.4F, 0.55F, 0.54F, 0, 360)};
    case 7: return {{{-0.6F, -0.9F}, {0.6F, -0.9F}, {-0.15F, 0.95F}}};
    case 8: return {arc(0, -0.47F, 0.48F, 0.45F, 0, 360), arc(0, 0.46F, 0.58F, 0.48F, 0, 360)};
    default: return {arc(0, -0.4F, 0.55F, 0.54F, 0, 360), arc(-0.35F, -0.3F, 0.9F, 1.25F, 0, 82)};
  }
}

// How a hand differs: turn, slant, stretch and shift, the same for all strokes of one picture.
struct Hand {
  explicit Hand(Random& random) {
    const float turn = random.uniform(-0.25F, 0.25F), slant = random.uniform(-0.3F, 0.3F);
    const float width = random.uniform(6.5F, 9.5F), height = random.uniform(8.0F, 10.5F);
    xx = width * std::cos(turn);
    xy = height * (slant - std::sin(turn));
    yx = width * std::sin(turn);
    yy = height * std::cos(turn);
    centre = {side / 2.0F + random.uniform(-2, 2), side / 2.0F + random.uniform(-2, 2)};
    pen = random.uniform(0.8F, 1.6F);
    ink = random.uniform(190, 255);
  }
  Point place(Point from) const { return {centre.x + xx * from.x + xy * from.y, centre.y + yx * from.x + yy * from.y}; }

  float xx, xy, yx, yy, pen, ink;
  Point centre;
};

float distance_to_line(Point at, Point from, Point to) {
  const float dx = to.x - from.x, dy = to.y - from.y;
  const float along = ((at.x - from.x) * dx + (at.y - from.y) * dy) / std::max(dx * dx + dy * dy, 1e-6F);
  const float nearest = std::clamp(along, 0.0F, 1.0F);
  return std::hypot(at.x - from.x - nearest * dx, at.y - from.y - nearest * dy);
}

// Darkens the pixels near one line; the edge of the pen is about a pixel wide.
void draw_line(std::span<std::uint8_t> picture, const Hand& hand, Point from, Point to) {
  const auto bound = [](float value) { return static_cast<std::size_t>(std::clamp(value, 0.0F, side - 1.0F)); };
  const float reach = hand.pen + 1;
  for (std::size_t y = bound(std::min(from.y, to.y) - reach); y <= bound(std::max(from.y, to.y) + reach); ++y) {
    for (std::size_t x = bound(std::min(from.x, to.x) - reach); x <= bound(std::max(from.x, to.x) + reach); ++x) {
      const Point at{static_cast<float>(x) + 0.5F, static_cast<float>(y) + 0.5F};
      const float cover = std::clamp(hand.pen + 0.5F - distance_to_line(at, from, to), 0.0F, 1.0F);
      std::uint8_t& pixel = picture[y * side + x];
      pixel = std::max(pixel, static_cast<std::uint8_t>(hand.ink * cover));
    }
  }
}

void draw(std::span<std::uint8_t> picture, std::uint8_t digit, Random& random) {
  const Hand hand(random);
  for (const Stroke& stroke : strokes_of(digit)) {
    for (std::size_t i = 1; i < stroke.size(); ++i) {
      draw_line(picture, hand, hand.place(stroke[i - 1]), hand.place(stroke[i]));
    }
  }
}

}  // namespace

Dataset draw_digits(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  Dataset data{side, side, std::vector<std::uint8_t>(count * side * side), {}};
  for (std::size_t i = 0; i < count; ++i) {
    data.labels.push_back(static_cast<std::uint8_t>(random.below(classes)));
    draw(std::span(data.pixels).subspan(i * side * side, side * side), data.labels.back(), random);
  }
  return data;
}

}  // namespace hocket::sgd
