#include "src/plan/wide_sums.hpp"

#include <algorithm>
#include <vector>

namespace hocket {
namespace {

bool adds_up(const Step& step) {
  return step.kind == StepKind::recv_reduce || step.kind == StepKind::reduce;
}

constexpr std::uint32_t nobody = UINT32_MAX;

// Sums are numbered by the steps that make them.
class WideSums {
 public:
  explicit WideSums(Schedule schedule)
      : schedule_(std::move(schedule)),
        writer_(schedule_.shape.chunks + schedule_.scratch_cells, nobody),
        summands_(schedule_.steps.size()) {
    for (const Step& step : schedule_.steps) wide_.push_back(adds_up(step));
  }

  Schedule run() && {
    if (std::ranges::find(wide_, true) == wide_.end()) return std::move(schedule_);
    follow();
    for (bool changed = true; changed;) changed = take_back();
    move_sums();
    return std::move(schedule_);
  }

 private:
  // Whether sums may lie there.
  static bool holds_sums(const Range& range) { return range.space == Space::output || range.space == Space::scratch; }
  // Where the range's first chunk is among all chunks of the output and cells of scratch.
  std::size_t place_of(const Range& range) const {
    return range.space == Space::output ? range.chunk : std::size_t{schedule_.shape.chunks} + range.cell;
  }
  std::span<std::uint32_t> writers(const Range& range) {
    if (!holds_sums(range)) return {};
    return std::span(writer_).subspan(place_of(range), range.count);
  }

  // Finds out what each step adds to, and rules out the sums that anybody else reads.
  void follow() {
    for (std::uint32_t index = 0; index < schedule_.steps.size(); ++index) {
      const Step& step = schedule_.steps[index];
      if (adds_up(step)) {
        const auto read = writers(step.left);
        summands_[index].assign(read.begin(), read.end());
        if (step.kind == StepKind::reduce) rule_out(step.right);
      } else {
        if (step.kind != StepKind::recv) rule_out(step.left);
        if (step.waits_for_right) rule_out(step.right);
      }
      if (step.kind != StepKind::send) std::ranges::fill(writers(step.to), index);
    }
    rule_out({Space::output, 0, 0, schedule_.shape.chunks});
  }

  void rule_out(const Range& read) {
    for (const std::uint32_t writer : writers(read)) {
      if (writer != nobody) wide_[writer] = false;
    }
  }

  bool is_wide(std::uint32_t writer) const { return writer != nobody && wide_[writer]; }
  // A step adds to what is wide altogether, or not at all.
  bool adds_to_wide(std::uint32_t index) const {
    const auto& summands = summands_[index];
    return !summands.empty() && std::ranges::all_of(summands, [&](std::uint32_t writer) { return is_wide(writer); });
  }

  // Returns whether there was anything to take back.
  bool take_back() {
    bool changed = false;
    for (std::uint32_t index = 0; index < summands_.size(); ++index) {
      if (adds_to_wide(index)) continue;
      for (const std::uint32_t writer : summands_[index]) {
        if (!is_wide(writer)) continue;
        wide_[writer] = false;
        changed = true;
      }
    }
    return changed;
  }

  // Every place of a wide sum gets a wide cell of its own, and places that adjoin get cells that do. So whatever waits
  // for a place waits for its cell.
  void move_sums() {
    std::vector<std::uint16_t> cells(writer_.size(), 0);
    for (std::uint32_t index = 0; index < wide_.size(); ++index) {
      const Range& to = schedule_.steps[index].to;
      if (wide_[index]) std::ranges::fill(std::span(cells).subspan(place_of(to), to.count), 1);
    }
    for (std::uint16_t& cell : cells) {
      if (cell != 0) cell = schedule_.wide_cells++;
    }
    const auto move = [&](Range& range) { range = {Space::wide, cells[place_of(range)], range.chunk, range.count}; };
    for (std::uint32_t index = 0; index < wide_.size(); ++index) {
      Step& step = schedule_.steps[index];
      if (adds_to_wide(index)) move(step.left);
      if (wide_[index]) move(step.to);
    }
  }

  Schedule schedule_;
  std::vector<std::uint32_t> writer_;                 // by place: whose result it holds
  std::vector<std::vector<std::uint32_t>> summands_;  // by step: whose results it adds to
  std::vector<bool> wide_;                            // by step: whether its result is to be wide
};

}  // namespace

Schedule with_wide_sums(Schedule schedule) {
  return WideSums(std::move(schedule)).run();
}

}  // namespace hocket
