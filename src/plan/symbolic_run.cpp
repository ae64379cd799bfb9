#include "src/plan/symbolic_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/plan/semantics.hpp"
#include "src/plan/text.hpp"

namespace hocket {
namespace {

Status run_failure(std::string message) {
  return Status(Code::internal, std::move(message));
}

}  // namespace

SymbolicRun::SymbolicRun(CollectiveRef collective, Rank size, const VerifyOptions& options)
    : collective_(collective),
      size_(size),
      options_(options),
      expressions_(size, options.in_rank_order ? Expressions::Operands::keep_their_sides
                                               : Expressions::Operands::may_be_exchanged) {
  processes_.reserve(static_cast<std::size_t>(size));
}

std::uint32_t SymbolicRun::filled(const Range& range) const {
  if (collective_->chunks == Chunks::token) return range.count;
  if (!collective_->is_vector()) return options_.empty_from == 0 ? 0 : range.count;
  return options_.empty_from <= range.chunk ? 0 : std::min(range.count, options_.empty_from - range.chunk);
}

bool SymbolicRun::is_message(const Instruction& instruction) const {
  if (instruction.channel == no_channel) return false;
  return filled(instruction.step.kind == StepKind::send ? instruction.step.left : instruction.step.to) > 0;
}

SymbolicRun::Spot* SymbolicRun::spots(Process& process, const Range& range, std::uint32_t piece) {
  const Program& program = process.program;
  return process.memory.data() + piece * program.places() + program.place_of(range);
}

std::string SymbolicRun::name(Place place) const {
  const Program& program = processes_[place.rank].program;
  return fmt::format("rank {}, step {} ({})", place.rank, place.index / program.interleave, describe(at(place).step));
}

// ---- before the run -------------------------------------------------------------------------------------------------

void SymbolicRun::add(const Schedule& schedule) {
  Process& process = processes_.emplace_back();
  process.program = compile(schedule, options_.placement, options_.interleave);
  const std::vector<Instruction>& instructions = process.program.instructions;
  process.depth.resize(instructions.size());
  process.complete.resize(instructions.size());
  process.waits.reserve(instructions.size());
  for (const Instruction& instruction : instructions) {
    if (instruction.waits == 0) {
      ready_.push_back({schedule.shape.rank, static_cast<std::uint32_t>(process.waits.size())});
    }
    process.waits.push_back(instruction.waits);
  }
  fill_memory(process);
  add_channels(process);
  count(process);
}

void SymbolicRun::fill_memory(Process& process) {
  const Shape& shape = process.program.shape;
  process.memory.resize(process.program.places() * options_.interleave);
  if (collective_->chunks == Chunks::token) {
    process.heard = expressions_.contribution(shape.rank, 0);
    std::ranges::fill(process.memory, Spot{process.heard, 0});
    return;
  }
  for (std::uint32_t piece = 0; piece < options_.interleave; ++piece) {
    for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
      if (!has_input(shape, chunk)) continue;
      *spots(process, {Space::input, 0, chunk, 1}, piece) = {expressions_.contribution(shape.rank, chunk), chunk};
    }
  }
}

void SymbolicRun::add_channels(Process& process) {
  const Rank rank = process.program.shape.rank;
  for (const Channel& channel : process.program.channels) {
    const Rank from = channel.outgoing ? rank : channel.peer;
    const Rank to = channel.outgoing ? channel.peer : rank;
    const std::uint64_t key = static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint32_t>(to);
    const auto [entry, is_new] = pair_of_.try_emplace(key, static_cast<std::uint32_t>(pairs_.size()));
    if (is_new) {
      pairs_.emplace_back();
      pairs_.back().from.rank = from;
      pairs_.back().to.rank = to;
    }
    process.pairs.push_back(entry->second);
    Pair::End& end = channel.outgoing ? pairs_[entry->second].from : pairs_[entry->second].to;
    for (const std::uint32_t index : channel.instructions) {
      if (is_message(process.program.instructions[index])) end.instructions.push_back(index);
    }
  }
}

void SymbolicRun::count(const Process& process) {
  std::uint64_t sends = 0, chunks = 0;
  for (const Instruction& instruction : process.program.instructions) {
    if (instruction.piece != 0) continue;
    ++counted_.steps;
    if (instruction.step.kind != StepKind::send) continue;
    const std::uint32_t sent = filled(instruction.step.left);
    sends += sent > 0;
    chunks += sent;
  }
  counted_.sends_max = std::max(counted_.sends_max, sends);
  counted_.chunks_sent_max = std::max(counted_.chunks_sent_max, chunks);
  counted_.scratch_cells_max = std::max(counted_.scratch_cells_max, process.program.scratch_cells);
  counted_.encoded_cells_max = std::max(counted_.encoded_cells_max, process.program.encoded_cells);
  counted_.wide_cells_max = std::max(counted_.wide_cells_max, process.program.wide_cells);
}

Status SymbolicRun::check_counts() const {
  for (const Pair& pair : pairs_) {
    const std::size_t sent = pair.from.instructions.size(), received = pair.to.instructions.size();
    if (sent == received) continue;
    const bool unreceived = sent > received;
    const Pair::End& longer = unreceived ? pair.from : pair.to;
    const Place first{longer.rank, longer.instructions[std::min(sent, received)]};
    return run_failure(fmt::format("rank {} sends {} messages to rank {}, which receives {}: nothing {} {}",
                                   pair.from.rank, sent, pair.to.rank, received, unreceived ? "receives" : "answers",
                                   name(first)));
  }
  return {};
}

// ---- the run --------------------------------------------------------------------------------------------------------

Status SymbolicRun::run() {
  if (Status status = check_counts(); !status) return status;
  while (!ready_.empty()) {
    const Place place = ready_.back();
    ready_.pop_back();
    if (Status status = advance(place); !status) return status;
  }
  return check_finished();
}

Status SymbolicRun::advance(Place place) {
  const Instruction& instruction = at(place);
  if (is_message(instruction)) return post(pairs_[processes_[place.rank].pairs[instruction.channel]]);
  if (instruction.channel == no_channel) {
    if (Status status = work(place); !status) return status;
  }
  complete(place, processes_[place.rank].depth[place.index]);
  return {};
}

Status SymbolicRun::post(Pair& pair) {
  for (Pair::End* end : {&pair.from, &pair.to}) {
    const Process& process = processes_[end->rank];
    while (end->posted < end->instructions.size() && process.waits[end->instructions[end->posted]] == 0) ++end->posted;
  }
  for (; pair.matched < std::min(pair.from.posted, pair.to.posted); ++pair.matched) {
    const Place from{pair.from.rank, pair.from.instructions[pair.matched]};
    const Place to{pair.to.rank, pair.to.instructions[pair.matched]};
    if (Status status = transfer(from, to); !status) return status;
    const std::uint32_t depth =
        std::max(processes_[from.rank].depth[from.index], processes_[to.rank].depth[to.index]) + 1;
    counted_.rounds = std::max<std::uint64_t>(counted_.rounds, depth);
    complete(from, depth);
    complete(to, depth);
  }
  return {};
}

Status SymbolicRun::transfer(Place from, Place to) {
  const Range& sent = at(from).step.left;
  const Range& expected = at(to).step.to;
  const bool same = filled(sent) == filled(expected) && (sent.chunk == expected.chunk || collective_->transposes());
  if (!same || at(from).piece != at(to).piece) {
    return run_failure(fmt::format("{} meets {}, which expects other chunks", name(from), name(to)));
  }
  if ((sent.space == Space::encoded) != (expected.space == Space::encoded)) {
    return run_failure(fmt::format("{} meets {}, but only one of them is encoded", name(from), name(to)));
  }
  if (Status status = load(from, sent, right_); !status) return status;
  if (at(to).step.kind == StepKind::recv) {
    store(to, right_);
    return {};
  }
  if (Status status = load(to, at(to).step.left, left_); !status) return status;
  if (Status status = combine(to, left_, right_); !status) return status;
  store(to, left_);
  if (collective_->chunks == Chunks::token) {
    Process& process = processes_[to.rank];
    process.heard = expressions_.combine(process.heard, left_.front().value);
  }
  return {};
}

Status SymbolicRun::work(Place place) {
  const Step& step = at(place).step;
  if (Status status = load(place, step.left, left_); !status) return status;
  if (step.kind == StepKind::reduce) {
    if (Status status = load(place, step.right, right_); !status) return status;
    if (Status status = combine(place, left_, right_); !status) return status;
  }
  if (step.to.space == Space::encoded && step.left.space != Space::encoded) {
    for (Spot& spot : left_) spot.value = expressions_.round(spot.value);
  }
  store(place, left_);
  return {};
}

Status SymbolicRun::load(Place place, const Range& range, std::vector<Spot>& into) {
  const Spot* first = spots(processes_[place.rank], range, at(place).piece);
  into.assign(first, first + filled(range));
  for (std::uint32_t i = 0; i < into.size(); ++i) {
    if (into[i].value == nothing) {
      return run_failure(fmt::format("{} reads {}, where nothing has been written", name(place), describe(range)));
    }
    if (into[i].chunk != range.chunk + i) {
      return run_failure(fmt::format("{} reads {}, which holds chunk {}", name(place), describe(range), into[i].chunk));
    }
  }
  return {};
}

// left = left ∘ right, or right ∘ left where the step is swapped; of equal chunks by check_form(). Rounded where sums
// are, unless the result is wide.
Status SymbolicRun::combine(Place place, std::vector<Spot>& left, const std::vector<Spot>& right) {
  const bool rounds = options_.rounding != Rounding::none && at(place).step.to.space != Space::wide;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const Expressions::Id mine = left[i].value, other = right[i].value;
    const std::optional<Rank> twice = expressions_.first_in_both(mine, other);
    if (twice && collective_->chunks != Chunks::token) {
      return run_failure(fmt::format("{} counts rank {} twice: it combines {} with {}", name(place), *twice,
                                     expressions_.describe(mine), expressions_.describe(other)));
    }
    const bool swapped = at(place).step.swapped;
    const Expressions::Id lower = swapped ? other : mine, upper = swapped ? mine : other;
    if (collective_->is_prefix() && expressions_.last(lower) > expressions_.last(upper)) {
      return run_failure(fmt::format("{} combines {} with {}: not in rank order", name(place),
                                     expressions_.describe(lower), expressions_.describe(upper)));
    }
    left[i].value = expressions_.combine(lower, upper);
    if (rounds) left[i].value = expressions_.round(left[i].value);
  }
  return {};
}

void SymbolicRun::store(Place place, const std::vector<Spot>& values) {
  const Range& range = at(place).step.to;
  Spot* to = spots(processes_[place.rank], range, at(place).piece);
  for (std::uint32_t i = 0; i < values.size(); ++i) to[i] = {values[i].value, range.chunk + i};
}

void SymbolicRun::complete(Place place, std::uint32_t depth) {
  Process& process = processes_[place.rank];
  process.complete[place.index] = true;
  for (const std::uint32_t later : process.program.successors_of(at(place))) {
    process.depth[later] = std::max(process.depth[later], depth);
    if (--process.waits[later] == 0) ready_.push_back({place.rank, later});
  }
}

Expressions::Id SymbolicRun::output(Rank rank, std::uint32_t chunk, std::uint32_t piece) {
  return spots(processes_[rank], {Space::output, 0, chunk, 1}, piece)->value;
}

}  // namespace hocket
