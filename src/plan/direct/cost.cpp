#include "src/plan/direct/cost.hpp"

#include <algorithm>
#include <cmath>

#include "src/plan/direct/one_shot_work.hpp"
#include "src/plan/direct/stages.hpp"
#include "src/plan/direct/staging.hpp"

namespace hocket {
namespace {

constexpr double inline_bytes_max = direct::inline_bytes_max;
constexpr double counters_per_part = counters_per_shared_part;

DirectWork operator+(const DirectWork& a, const DirectWork& b) {
  return {a.lines + b.lines, a.copied + b.copied, a.combined + b.combined, a.reads + b.reads, a.read + b.read};
}

// A call as its forms see it.
struct CallShape {
  double ranks;
  double block;        // bytes of the vector, or of one block
  double part;         // of what is combined, that each rank combines where it is shared out
  double rounds;       // that the path takes
  double parts;        // of one round, for each rank
  double fetch_block;  // single copy
  bool combines, in_place;
  const CollectiveInfo& collective;
};

// One rank's part in a call: the root's, or another one's.
struct Side {
  double input, output;
  double own;  // bytes that a rank gives to itself, where nothing is combined
};

Side side_of(const Exchange& exchange, const CallShape& shape, bool is_root) {
  const std::uint32_t member = is_root ? exchange.root() : exchange.root() + 1;
  Side side{static_cast<double>(exchange.input_bytes(member)), static_cast<double>(exchange.output_bytes(member)), 0};
  const bool gives_itself =
      !shape.combines && side.input > 0 && side.output > 0 && (is_root || !shape.collective.has_root());
  if (gives_itself) side.own = shape.block;
  return side;
}

bool gives_all_to_everyone(const CollectiveInfo& collective) {
  return collective.output == everything && !collective.transposes();
}

// What a rank copies to its output from wherever it finds it: all but what lies there already.
double copied_out(const CallShape& shape, const Side& side) {
  return side.output - (shape.in_place ? side.own : 0);
}

// ---- the paths ------------------------------------------------------------------------------------------------------

// Waits for the announcements, then for each stage.
double waits_on(DirectPath path, const CallShape& shape) {
  return 1 + static_cast<double>(stages_of(path, shape.combines).size());
}

double announcement_lines_of(DirectPath path, const CallShape& shape) {
  return (shape.ranks - 1) * static_cast<double>(announcement_lines(path));
}

DirectWork payload(const Side& side) {
  return {.copied = side.input > inline_bytes_max ? side.input : 0};
}

// Of each rank whose data somebody takes: data beyond the line lies in other ones, which come together.
double lines_of(const Side& side) {
  return side.input > inline_bytes_max ? 2 : 1;
}

DirectTerms one_shot(const Exchange& exchange, const CallShape& shape, const Side& root, const Side& other,
                     bool one_way) {
  const DirectWork for_root = one_shot_output(exchange, exchange.root(), shape.in_place);
  const DirectWork for_others = one_shot_output(exchange, exchange.root() + 1, shape.in_place);
  DirectTerms terms{.root = payload(root) + for_root, .other = payload(other) + for_others};
  const double others = shape.ranks - 1;
  if (one_way) {  // senders run ahead, so nobody waits in a row of calls
    const bool down = shape.collective.is_from_root();
    (down ? terms.other : terms.root).lines = down ? lines_of(root) : others * lines_of(other);
    terms.time_slices = 1.0 / static_cast<double>(direct::run_ahead_max);
    return terms;
  }
  terms.root.lines = terms.other.lines = others * std::max(lines_of(root), lines_of(other));
  terms.flags = waits_on(DirectPath::one_shot, shape);
  terms.time_slices = 1;
  if (shape.collective.has_root()) {
    const bool down = shape.collective.is_from_root();
    terms.brought = payload(down ? root : other);
    terms.taken = down ? for_others : for_root;
  }
  return terms;
}

// Any rank that is awake combines; on average each does as much.
DirectTerms pooled(const CallShape& shape, const Side& root, const Side& other) {
  const DirectWork common{.lines = announcement_lines_of(DirectPath::pooled, shape) + counters_per_part * shape.rounds,
                          .combined = (shape.ranks - 1) * shape.part};
  const auto work = [&](const Side& side) { return common + DirectWork{.copied = side.input + side.output}; };
  return {.root = work(root), .other = work(other), .flags = waits_on(DirectPath::pooled, shape), .time_slices = 1};
}

// Parts are shared out, and each goes from all inputs to all outputs at once.
DirectTerms mapped(const CallShape& shape, const Side& root, const Side& other, bool shares_work) {
  const double others = shape.ranks - 1;
  DirectWork work{.lines = announcement_lines_of(DirectPath::mapped, shape) +
                           (shares_work ? counters_per_part * shape.rounds * shape.parts : others)};
  if (shape.combines) {
    work.combined = others * shape.part;
    work.copied = gives_all_to_everyone(shape.collective) ? others * shape.part : 0;  // the first target is combined
  } else {
    work.copied = (copied_out(shape, root) + others * copied_out(shape, other)) / shape.ranks;
  }
  return {.root = work, .other = work, .flags = waits_on(DirectPath::mapped, shape), .time_slices = 1};
}

// What a rank takes of parts that others have combined.
double results_of_others(const CallShape& shape, const Side& side) {
  return shape.collective.output.held == Held::own_chunk || side.output == 0 ? 0 : side.output - shape.part;
}

DirectTerms single_copy(const CallShape& shape, const Side& root, const Side& other) {
  const double others = shape.ranks - 1;
  const auto work = [&](const Side& side) {
    DirectWork made{.lines = announcement_lines_of(DirectPath::single_copy, shape)};
    if (!shape.combines) {
      made.copied = copied_out(shape, side) - (side.output - side.own);
      made.read = side.output - side.own;
      // Of each other rank its block; a vector is read from its root in the parts of all.
      const double sources = !shape.collective.is_from_root() ? others : shape.collective.is_vector() ? shape.ranks : 1;
      made.reads = made.read > 0 ? shape.rounds * sources : 0;
      return made;
    }
    made.lines += shape.rounds * others;
    made.combined = others * shape.part;
    made.read = others * shape.part;
    made.reads = shape.rounds * others * std::ceil(shape.part / shape.rounds / shape.fetch_block);
    const double taken = results_of_others(shape, side);
    if (shape.collective.has_root()) {
      made.copied = taken;  // these lie in staging areas
    } else {
      made.read += taken;
      made.reads += taken > 0 ? shape.rounds * others : 0;
    }
    return made;
  };
  const double waits = waits_on(DirectPath::single_copy, shape);
  return {.root = work(root),
          .other = work(other),
          .flags = waits,
          .time_slices = other.input > 0 ? waits : 1 + 1 / shape.ranks};
}

DirectTerms staged(const CallShape& shape, const Side& root, const Side& other) {
  const double others = shape.ranks - 1;
  const auto copied_in = [&](const Side& side) -> DirectWork {
    if (shape.combines) return {.copied = side.input - shape.part};
    const bool stays = side.output > 0 && !gives_all_to_everyone(shape.collective);  // its own block
    return {.copied = side.input - (stays ? std::min(side.own, side.input) : 0)};
  };
  const auto taken = [&](const Side& side) -> DirectWork {
    return {.copied = shape.combines ? results_of_others(shape, side) : copied_out(shape, side)};
  };
  const auto work = [&](const Side& side) {
    DirectWork made = copied_in(side) + taken(side);
    made.lines = announcement_lines_of(DirectPath::staged, shape) + others * 2 * shape.rounds;
    if (shape.combines) made.combined = others * shape.part;
    if (shape.combines && gives_all_to_everyone(shape.collective))
      made.copied += shape.part;  // its result goes to two places
    return made;
  };
  const double windows = std::ceil(shape.rounds / static_cast<double>(direct::rounds_in_flight));
  DirectTerms terms{.root = work(root),
                    .other = work(other),
                    .rounds = shape.rounds,
                    .flags = waits_on(DirectPath::staged, shape),
                    .time_slices = 2 * windows + (shape.combines ? 1 : 0)};
  if (shape.collective.has_root() && !shape.combines) {
    const bool down = shape.collective.is_from_root();
    terms.brought = copied_in(down ? root : other);
    terms.taken = taken(down ? other : root);
  }
  return terms;
}

}  // namespace

Exchange DirectCall::exchange(std::size_t grain) const {
  const Signature signature{.collective = collective,
                            .dtype = DataType::uint8,
                            .op = ReduceOp::sum,
                            .root = root,
                            .count = count * element_bytes};
  return {signature, static_cast<std::uint32_t>(root), static_cast<std::uint32_t>(ranks), grain};
}

DirectTerms direct_terms(const DirectCall& call, DirectPath path, bool shares_work) {
  const std::size_t grain = grain_of(path, call.exchange(), direct::usual_staging_bytes);
  const Exchange exchange = call.exchange(grain);
  const double ranks = call.ranks;
  const CollectiveInfo& collective = info_of(call.collective);
  const double block = collective.chunks == Chunks::token ? 0 : static_cast<double>(call.count * call.element_bytes);
  const CallShape shape{.ranks = ranks,
                        .block = block,
                        .part = collective.is_vector() ? block / ranks : block,
                        .rounds = static_cast<double>(exchange.rounds()),
                        .parts = exchange.parts() / ranks,
                        .fetch_block = static_cast<double>(
                            fetch_block_bytes(direct::usual_staging_bytes, static_cast<std::uint32_t>(call.ranks))),
                        .combines = exchange.combines(),
                        .in_place = call.in_place,
                        .collective = collective};
  const Side root = side_of(exchange, shape, true), other = side_of(exchange, shape, false);
  switch (path) {
    case DirectPath::one_shot: {
      if (collective.is_prefix()) return one_shot_prefix(exchange, call.in_place);
      const DirectSetting setting{.thresholds = &direct_thresholds_on_one_host(shares_work, exchange.members()),
                                  .staging_bytes = direct::usual_staging_bytes,
                                  .shares_work = shares_work};
      return one_shot(exchange, shape, root, other, direct_rule(exchange, setting).one_way);
    }
    case DirectPath::pooled: return pooled(shape, root, other);
    case DirectPath::mapped: return mapped(shape, root, other, shares_work);
    case DirectPath::single_copy: return single_copy(shape, root, other);
    case DirectPath::staged: return staged(shape, root, other);
    case DirectPath::gpu: break;  // no figures yet
  }
  return {};
}

// ---- seconds --------------------------------------------------------------------------------------------------------

DirectSetting direct_setting(const Network& network, const DirectCall& call) {
  return {.thresholds = &direct_thresholds(network.machine(), static_cast<std::size_t>(call.ranks)),
          .staging_bytes = direct::usual_staging_bytes,
          .shares_work = network.is_crowded()};
}

DirectRates direct_rates(const Network& network, const DirectCall& call) {
  const DirectCost& cost = *network.description().direct;
  const double ranks = call.ranks, cores = network.is_crowded() ? network.cores_per_host() : ranks;
  const Exchange exchange = call.exchange();
  double buffers = 0;  // of the rank with the most; ranks on one core share its cache
  for (const std::uint32_t member : {exchange.root(), (exchange.root() + 1) % exchange.members()}) {
    buffers = std::max(buffers, static_cast<double>(exchange.input_bytes(member) + exchange.output_bytes(member)));
  }
  const bool far = buffers * ranks / cores > cost.cache_bytes;
  return {.line = cost.line,
          .copy = far ? cost.far_copy_per_byte : cost.copy_per_byte,
          .reduce = far ? cost.far_reduce_per_byte : cost.reduce_per_byte,
          .read = cost.read,
          .read_per_byte = cost.read_per_byte};
}

std::optional<DirectExpectation> expect_direct(const Network& network, const DirectCall& call,
                                               std::optional<DirectPath> path) {
  const std::optional<DirectCost>& described = network.description().direct;
  const bool one_host = network.description().kind == NetworkKind::hosts && network.hosts() == 1;
  if (!one_host || !described || call.ranks < 2) return std::nullopt;
  const DirectCost& cost = *described;
  const DirectSetting setting = direct_setting(network, call);
  const bool shares_work = setting.shares_work;
  const Exchange exchange = call.exchange();
  const DirectPath foreseen = foreseen_path(exchange, setting, call.registered,
                                            cost.saves_time_by_reading(thresholds_of(setting).read_ratio_max));
  const bool is_prefix = info_of(call.collective).is_prefix();  // that is run as foreseen, or over links
  if (!has_direct_path(exchange, direct_rule(exchange, setting)) || (is_prefix && path && *path != foreseen)) {
    return std::nullopt;
  }
  if (!path) path = foreseen;
  const DirectTerms terms = direct_terms(call, *path, shares_work);

  const double ranks = call.ranks, cores = shares_work ? network.cores_per_host() : ranks;
  const DirectRates rates = direct_rates(network, call);
  const auto seconds = [&](const DirectWork& work) { return rates.seconds(work); };
  double slowest = 1, slowness = 0;
  for (Rank rank = 0; rank < call.ranks; ++rank) {
    slowest = std::max(slowest, network.slowness_of(rank));
    slowness += network.slowness_of(rank) / ranks;
  }
  const double root = seconds(terms.root), other = seconds(terms.other);
  const double brought = seconds(terms.brought), taken = seconds(terms.taken);
  const double one_after_the_other = std::max(brought + taken / terms.rounds, brought / terms.rounds + taken);
  const double alone = cost.call + std::max({root, other, one_after_the_other});
  // Ranks on other cores are not in step: one that comes up finds another missing about every other time.
  const double looks = cores > 1 ? 2 : 1;
  const double time_slices = shares_work ? ranks * terms.time_slices * looks * cost.wake : 0;
  const double bound = (ranks * cost.call + root + (ranks - 1) * other + time_slices) * slowness / cores;
  return DirectExpectation{*path, std::max(alone * slowest + terms.flags * cost.flag, bound), bound, terms};
}

}  // namespace hocket
