// Derives a program from a schedule: which step must wait for which, and the order of messages on each channel.
#include <algorithm>
#include <array>

#include "src/plan/program.hpp"

namespace hocket {
namespace {

// What the steps read and write is remembered by location: one chunk of the input or output, or one cell of scratch.
struct Location {
  std::uint32_t writer = UINT32_MAX;   // the last instruction that wrote here
  std::vector<std::uint32_t> readers;  // those that have read since
};

class Compiler {
 public:
  Compiler(const Schedule& schedule, Placement placement, std::uint32_t interleave) : schedule_(schedule) {
    program_.shape = schedule.shape;
    program_.placement = placement;
    program_.interleave = interleave;
    program_.scratch_cells = schedule.scratch_cells;
    program_.encoded_cells = schedule.encoded_cells;
    program_.wide_cells = schedule.wide_cells;
    program_.instructions.reserve(schedule.steps.size() * interleave);
    locations_.resize(program_.places() * interleave);
  }

  Program run() && {
    for (const Step& step : schedule_.steps) {
      if (vanishes(step)) continue;
      for (std::uint32_t piece = 0; piece < program_.interleave; ++piece) add(step, piece);
    }
    link();
    return std::move(program_);
  }

 private:
  bool vanishes(const Step& step) const {
    if (step.kind != StepKind::copy || program_.place_of(step.left) != program_.place_of(step.to)) return false;
    return step.left.count == step.to.count;
  }

  std::span<Location> locations(const Range& range, std::uint32_t piece) {
    return std::span(locations_).subspan(piece * program_.places() + program_.place_of(range), range.count);
  }

  void add(const Step& step, std::uint32_t piece) {
    const auto index = static_cast<std::uint32_t>(program_.instructions.size());
    program_.instructions.push_back({.step = step, .piece = piece});
    before_.clear();
    switch (step.kind) {
      case StepKind::send:
        read(index, step.left, piece);
        if (step.waits_for_right) wait_for_writers(index, step.right, piece);
        break;
      case StepKind::recv: write(index, step.to, piece); break;
      case StepKind::recv_reduce:
      case StepKind::copy:
        read(index, step.left, piece);
        write(index, step.to, piece);
        break;
      case StepKind::reduce:
        read(index, step.left, piece);
        read(index, step.right, piece);
        write(index, step.to, piece);
        break;
    }
    std::ranges::sort(before_);
    const auto repeated = std::ranges::unique(before_);
    before_.erase(repeated.begin(), repeated.end());
    program_.instructions[index].waits = static_cast<std::uint32_t>(before_.size());
    for (const std::uint32_t earlier : before_) {
      edges_.push_back({earlier, index});
      ++program_.instructions[earlier].successors;
    }
    if (step.kind == StepKind::send || step.kind == StepKind::recv || step.kind == StepKind::recv_reduce) {
      program_.instructions[index].channel = channel(step);
      program_.channels[program_.instructions[index].channel].instructions.push_back(index);
    }
  }

  void wait_for(std::uint32_t index, std::uint32_t earlier) {
    if (earlier != UINT32_MAX && earlier != index) before_.push_back(earlier);
  }

  void read(std::uint32_t index, const Range& range, std::uint32_t piece) {
    for (Location& location : locations(range, piece)) {
      wait_for(index, location.writer);
      location.readers.push_back(index);
    }
  }

  void wait_for_writers(std::uint32_t index, const Range& range, std::uint32_t piece) {
    for (const Location& location : locations(range, piece)) wait_for(index, location.writer);
  }

  void write(std::uint32_t index, const Range& range, std::uint32_t piece) {
    for (Location& location : locations(range, piece)) {
      wait_for(index, location.writer);
      for (const std::uint32_t reader : location.readers) wait_for(index, reader);
      location.readers.clear();
      location.writer = index;
    }
  }

  std::uint32_t channel(const Step& step) {
    const bool outgoing = step.kind == StepKind::send;
    const auto peer = static_cast<std::size_t>(step.peer);
    if (peer >= channels_of_.size()) channels_of_.resize(peer + 1);
    std::vector<std::uint32_t>& known = channels_of_[peer];
    const auto found =
        std::ranges::find_if(known, [&](std::uint32_t index) { return program_.channels[index].outgoing == outgoing; });
    if (found != known.end()) return *found;
    program_.channels.push_back({.peer = step.peer, .outgoing = outgoing, .instructions = {}});
    known.push_back(static_cast<std::uint32_t>(program_.channels.size() - 1));
    return known.back();
  }

  // Gathers the edges by their first end.
  void link() {
    std::uint32_t offset = 0;
    for (Instruction& instruction : program_.instructions) {
      instruction.first_successor = offset;
      offset += std::exchange(instruction.successors, 0);
    }
    program_.successors.resize(offset);
    for (const auto& [earlier, later] : edges_) {
      Instruction& instruction = program_.instructions[earlier];
      program_.successors[instruction.first_successor + instruction.successors++] = later;
    }
  }

  const Schedule& schedule_;
  Program program_;
  std::vector<Location> locations_;
  std::vector<std::uint32_t> before_;  // of the instruction being added
  std::vector<std::array<std::uint32_t, 2>> edges_;
  std::vector<std::vector<std::uint32_t>> channels_of_;  // by peer
};

}  // namespace

Program compile(const Schedule& schedule, Placement placement, std::uint32_t interleave) {
  return Compiler(schedule, placement, interleave).run();
}

Schedule in_single_chunks(const Schedule& schedule) {
  Schedule single = schedule;
  single.steps.clear();
  for (const Step& step : schedule.steps) {
    const std::uint32_t chunks = step.kind == StepKind::recv ? step.to.count : step.left.count;
    for (std::uint32_t i = 0; i < chunks; ++i) {
      const auto one = [i](const Range& range) { return ScheduleBuilder::part(range, range.chunk + i, 1); };
      Step& last = single.steps.emplace_back(step);
      last.left = one(step.left);
      if (!step.waits_for_right) last.right = one(step.right);  // else it is only waited for, all of it
      last.to = one(step.to);
    }
  }
  return single;
}

}  // namespace hocket
