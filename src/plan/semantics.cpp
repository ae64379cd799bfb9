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

// Chunk numbers of alltoall differ between input and output, and all of its chunks are of one size.
bool same_chunks(const Shape& shape, const Range& a, const Range& b) {
  return a.count == b.count && (a.chunk == b.chunk || shape.collective == Collective::alltoall);
}

std::string fault_of(const Schedule& schedule, const Step& step) {
  const bool local = step.kind == StepKind::copy || step.kind == StepKind::reduce;
  if (!local && (step.peer < 0 || step.peer >= schedule.shape.size || step.peer == schedule.shape.rank)) {
    return fmt::format("names the peer {}, which is no other rank", step.peer);
  }
  if (combines(step.kind) && !reduces(schedule.shape.collective) && schedule.shape.collective != Collective::barrier) {
    return "combines, in a collective that has no reduction";
  }
  if (sums_encoded(step)) return "combines in an encoded cell";
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
  switch (shape.collective) {
    case Collective::allreduce:
    case Collective::reduce:
    case Collective::reduce_scatter:
    case Collective::alltoall:
    case Collective::scan:
    case Collective::exscan:
    case Collective::send: return true;
    case Collective::broadcast:
    case Collective::scatter: return shape.rank == shape.root;
    case Collective::allgather:
    case Collective::gather: return chunk == static_cast<std::uint32_t>(shape.rank);
    default: break;  // barrier, recv
  }
  return false;
}

std::optional<Wanted> wanted_output(const Shape& shape, std::uint32_t chunk) {
  const auto only_if = [](bool held, Wanted wanted) { return held ? std::optional(wanted) : std::nullopt; };
  const auto own = static_cast<std::uint32_t>(shape.rank);
  const auto source = static_cast<Rank>(chunk);
  const Wanted sum{no_rank, chunk, shape.size - 1};
  switch (shape.collective) {
    case Collective::allreduce: return sum;
    case Collective::reduce: return only_if(shape.rank == shape.root, sum);
    case Collective::reduce_scatter: return only_if(chunk == own, sum);
    case Collective::scan: return Wanted{no_rank, chunk, shape.rank};
    case Collective::exscan: return only_if(shape.rank > 0, {no_rank, chunk, shape.rank - 1});
    case Collective::broadcast:
    case Collective::recv: return Wanted{shape.root, chunk};
    case Collective::allgather: return Wanted{source, chunk};
    case Collective::scatter: return only_if(chunk == own, {shape.root, chunk});
    case Collective::gather: return only_if(shape.rank == shape.root, {source, chunk});
    case Collective::alltoall: return Wanted{source, own};
    default: break;  // barrier, send
  }
  return std::nullopt;
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
