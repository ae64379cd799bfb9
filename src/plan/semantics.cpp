#include "src/plan/semantics.hpp"

#include <fmt/format.h>

#include "src/plan/text.hpp"

namespace hocket {
namespace {

// What is wrong with a range that a step uses; empty: nothing.
std::string fault_of(const Schedule& schedule, const Range& range) {
  const Shape& shape = schedule.shape;
  if (range.count == 0) return "is empty";
  if (std::uint64_t{range.chunk} + range.count > shape.chunks) {
    return fmt::format("goes beyond the {} chunks that there are", shape.chunks);
  }
  if (range.space == Space::scratch) {
    if (range.cell + range.count <= schedule.scratch_cells) return {};
    return fmt::format("goes beyond the {} scratch cells that there are", schedule.scratch_cells);
  }
  if (range.space == Space::encoded) {
    if (range.count != 1) return "holds several chunks, but each is encoded by itself";
    if (range.cell < schedule.encoded_cells) return {};
    return fmt::format("goes beyond the {} encoded cells that there are", schedule.encoded_cells);
  }
  if (range.space == Space::wide) {
    if (range.cell + range.count <= schedule.wide_cells) return {};
    return fmt::format("goes beyond the {} wide cells that there are", schedule.wide_cells);
  }
  for (std::uint32_t chunk = range.chunk; chunk < range.chunk + range.count; ++chunk) {
    const bool held = range.space == Space::input ? has_input(shape, chunk) : wanted_output(shape, chunk).has_value();
    if (!held) {
      return fmt::format("is not there: this rank has no {} chunk {}", range.space == Space::input ? "input" : "output",
                         chunk);
    }
  }
  return {};
}

bool reads_left(StepKind kind) {
  return kind != StepKind::recv;
}

bool writes(StepKind kind) {
  return kind != StepKind::send;
}

bool combines(StepKind kind) {
  return kind == StepKind::recv_reduce || kind == StepKind::reduce;
}

// Sums are taken in full precision; only the right operand of a reduction is decoded on the way.
bool sums_encoded(const Step& step) {
  return combines(step.kind) && (step.left.space == Space::encoded || step.to.space == Space::encoded);
}

// Wide sums are made and added to, and nothing else is done with them.
bool misuses_wide(const Step& step) {
  const auto is_wide = [](const Range& range) { return range.space == Space::wide; };
  const bool right_counts = step.kind == StepKind::reduce || step.waits_for_right;
  if (right_counts && is_wide(step.right)) return true;
  return !combines(step.kind) && (is_wide(step.left) || is_wide(step.to));
}

// Chunk numbers of a collective that transposes differ between input and output, and all of its chunks are of one size.
bool same_chunks(const Shape& shape, const Range& a, const Range& b) {
  return a.count == b.count && (a.chunk == b.chunk || shape.collective->transposes());
}

std::string fault_of(const Schedule& schedule, const Step& step) {
  const bool local = step.kind == StepKind::copy || step.kind == StepKind::reduce;
  if (!local && (step.peer < 0 || step.peer >= schedule.shape.size || step.peer == schedule.shape.rank)) {
    return fmt::format("names the peer {}, which is not another rank", step.peer);
  }
  const CollectiveInfo& collective = *schedule.shape.collective;
  if (combines(step.kind) && !collective.reduces() && collective.chunks != Chunks::token) {
    return "combines, in a collective that has no reduction";
  }
  if (sums_encoded(step)) return "combines in an encoded cell";
  if (misuses_wide(step)) return "uses a wide cell for something else than a sum that is added to";
  if (reads_left(step.kind)) {
    if (std::string fault = fault_of(schedule, step.left); !fault.empty()) return describe(step.left) + " " + fault;
  }
  if (step.waits_for_right) {
    if (step.kind != StepKind::send) return "waits as only sends can";
    if (std::string fault = fault_of(schedule, step.right); !fault.empty()) return describe(step.right) + " " + fault;
  }
  if (step.kind == StepKind::reduce) {
    if (std::string fault = fault_of(schedule, step.right); !fault.empty()) return describe(step.right) + " " + fault;
    if (!same_chunks(schedule.shape, step.left, step.right)) return "combines different chunks";
  }
  if (!writes(step.kind)) return {};
  if (step.to.space == Space::input) return "writes the input";
  if (std::string fault = fault_of(schedule, step.to); !fault.empty()) return describe(step.to) + " " + fault;
  if (reads_left(step.kind) && !same_chunks(schedule.shape, step.left, step.to))
    return "puts a chunk in another's place";
  return {};
}

}  // namespace

bool has_input(const Shape& shape, std::uint32_t chunk) {
  return shape.collective->input.has(chunk, shape.rank, shape.root);
}

std::optional<Wanted> wanted_output(const Shape& shape, std::uint32_t chunk) {
  const CollectiveInfo& collective = *shape.collective;
  if (!collective.output.has(chunk, shape.rank, shape.root)) return std::nullopt;
  switch (collective.combines) {
    case Combines::all_ranks: return Wanted{no_rank, chunk, shape.size - 1};
    case Combines::ranks_up_to_own: return Wanted{no_rank, chunk, shape.rank};
    case Combines::ranks_before_own: return Wanted{no_rank, chunk, shape.rank - 1};
    case Combines::nothing: break;
  }
  const auto own = static_cast<std::uint32_t>(shape.rank);
  return Wanted{collective.source_of(chunk, shape.root), collective.transposes() ? own : chunk};
}

Status check_form(const Schedule& schedule) {
  for (std::size_t index = 0; index < schedule.steps.size(); ++index) {
    const Step& step = schedule.steps[index];
    const std::string fault = fault_of(schedule, step);
    if (fault.empty()) continue;
    return Status(Code::internal,
                  fmt::format("rank {}, step {} ({}): {}", schedule.shape.rank, index, describe(step), fault));
  }
  return {};
}

}  // namespace hocket
