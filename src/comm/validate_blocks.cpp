// Collectives whose blocks vary: what their counts and displacements mean, and whether they are sound.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "src/base/hash.hpp"
#include "src/comm/validate.hpp"

namespace hocket::comm {
namespace {

using Block = UnequalBlocks::Block;
using Table = std::vector<Block>;

// One of the two buffers, in the caller's words.
struct Side {
  const char* buffer;
  const char* counts_name;
  const char* displacements_name;
  const void* data;
  const std::size_t* counts;
  const std::size_t* displacements;
};

std::uint64_t digest_of_table(const Table& table) {
  Hash hash;
  for (const Block& block : table) hash.add(block.count);
  return hash.value();
}

std::size_t total_of(const Table& table) {
  std::size_t total = 0;
  for (const Block& block : table) total += block.count;
  return total;
}

class Validator {
 public:
  Validator(const CallArguments& arguments, Rank rank, Rank size)
      : arguments_(arguments),
        collective_(info_of(arguments.collective)),
        rank_(rank),
        own_(static_cast<std::size_t>(rank)),
        size_(static_cast<std::size_t>(size)),
        element_bytes_(size_of_element(arguments)),
        send_{"send", "sendcounts", "senddispls", arguments.send, nullptr, nullptr},
        recv_{"recv", "recvcounts", "recvdispls", arguments.recv, nullptr, nullptr} {
    const BlockArguments& blocks = arguments.blocks;
    send_.counts = blocks.send_counts;
    send_.displacements = blocks.send_displacements;
    recv_.counts = blocks.recv_counts;
    recv_.displacements = blocks.recv_displacements;
    if (collective_.counts != GivenCounts::both) {
      send_.displacements_name = recv_.displacements_name = "displacements";
    }
  }

  Result<CheckedCall> run() {
    auto blocks = std::make_shared<UnequalBlocks>();
    blocks->input.resize(size_);
    blocks->output.resize(size_);
    if (Status status = read(*blocks); !status.ok()) return status;
    for (const bool output : {false, true}) {
      if (Status status = check_pointer(output ? recv_ : send_, output ? blocks->output : blocks->input, output);
          !status.ok()) {
        return status;
      }
    }
    if (Status status = check_recv_blocks(blocks->output); !status.ok()) return status;
    const auto placement = placement_of(*blocks);
    if (!placement.ok()) return placement.status();
    return checked(std::move(blocks), *placement);
  }

 private:
  Status refuse(const std::string& what) const { return invalid(arguments_, what); }

  // Whether this rank's buffer has the block of rank `chunk`; the tables have the sizes of more than these.
  bool holds(bool output, std::size_t chunk) const {
    const BufferShape& buffer = output ? collective_.output : collective_.input;
    return buffer.has(static_cast<std::uint32_t>(chunk), rank_, arguments_.root);
  }

  Status read(UnequalBlocks& blocks) const {
    if (collective_.counts == GivenCounts::both) return read_both(blocks);
    if (!lists_blocks(collective_, rank_, arguments_.root)) return read_own(blocks);
    const bool all_in_input = collective_.input.held == Held::all_chunks;
    const Side& side = collective_.counts == GivenCounts::send ? send_ : recv_;
    return all_in_input ? read_all(side, blocks.input, blocks.output) : read_all(side, blocks.output, blocks.input);
  }

  Status read_both(UnequalBlocks& blocks) const {
    if (Status status = read_table(send_, blocks.input); !status.ok()) return status;
    if (Status status = read_table(recv_, blocks.output); !status.ok()) return status;
    const std::size_t out = blocks.input[own_].count, in = blocks.output[own_].count;
    if (out == in) return {};
    return refuse(
        fmt::format("sendcounts[{0}] is {1}, but recvcounts[{0}] is {2}: what a rank sends to itself it also "
                    "receives",
                    own_, out, in));
  }

  // `table` from the caller's counts; the other buffer is one block, this rank's, whose size the caller may say, too.
  Status read_all(const Side& side, Table& table, Table& other) const {
    if (Status status = read_table(side, table); !status.ok()) return status;
    for (std::size_t chunk = 0; chunk < size_; ++chunk) other[chunk].count = table[chunk].count;
    if (collective_.count_name.empty() || arguments_.count == table[own_].count) return {};
    return refuse(fmt::format("{} is {}, but {}[{}], which is this rank's, is {}", collective_.count_name,
                              arguments_.count, side.counts_name, own_, table[own_].count));
  }

  Status read_own(UnequalBlocks& blocks) const {
    if (arguments_.count > static_cast<std::size_t>(PTRDIFF_MAX) / element_bytes_) {
      return refuse(
          fmt::format("{} is {}, which is more than fits in memory", collective_.count_name, arguments_.count));
    }
    blocks.input[own_].count = blocks.output[own_].count = arguments_.count;
    return {};
  }

  Status read_table(const Side& side, Table& table) const {
    if (side.counts == nullptr) {
      return refuse(fmt::format("{} is null; it must hold {} counts, one for each rank", side.counts_name, size_));
    }
    const std::size_t limit = static_cast<std::size_t>(PTRDIFF_MAX) / element_bytes_;
    std::size_t total = 0;
    for (std::size_t chunk = 0; chunk < size_; ++chunk) {
      const std::size_t count = side.counts[chunk];
      if (count > limit - total) {
        return refuse(fmt::format("{} add up to more than fits in memory: {}[{}] is {}", side.counts_name,
                                  side.counts_name, chunk, count));
      }
      table[chunk] = {side.displacements == nullptr ? total : side.displacements[chunk], count};
      if (count != 0 && table[chunk].offset > limit - count) {
        return refuse(fmt::format("{}[{}] is {}, which is beyond what fits in memory", side.displacements_name, chunk,
                                  table[chunk].offset));
      }
      total += count;
    }
    return {};
  }

  Status check_pointer(const Side& side, const Table& table, bool output) const {
    if (side.data != nullptr) return {};
    for (std::size_t chunk = 0; chunk < size_; ++chunk) {
      if (!holds(output, chunk) || table[chunk].count == 0) continue;
      return refuse(fmt::format("{} is null, but the block of rank {} in it has {} elements", side.buffer, chunk,
                                table[chunk].count));
    }
    return {};
  }

  // A block in memory. The pointers may be invalid, so numbers.
  struct Stretch {
    std::uintptr_t begin = 0, end = 0;
    std::size_t chunk = 0;
  };
  Stretch stretch(bool output, const Table& table, std::size_t chunk) const {
    const auto base = reinterpret_cast<std::uintptr_t>(output ? arguments_.recv : arguments_.send);
    const std::uintptr_t begin = base + table[chunk].offset * element_bytes_;
    return {begin, begin + table[chunk].count * element_bytes_, chunk};
  }
  std::vector<Stretch> stretches(bool output, const Table& table) const {
    std::vector<Stretch> held;
    for (std::size_t chunk = 0; chunk < size_; ++chunk) {
      if (holds(output, chunk) && table[chunk].count != 0) held.push_back(stretch(output, table, chunk));
    }
    std::ranges::sort(held, {}, &Stretch::begin);
    return held;
  }

  Status check_recv_blocks(const Table& output) const {
    const std::vector<Stretch> held = stretches(true, output);
    for (std::size_t i = 1; i < held.size(); ++i) {
      if (held[i - 1].end <= held[i].begin) continue;
      return refuse(fmt::format("the blocks of ranks {} and {} overlap in recv: their {} are {} and {}",
                                held[i - 1].chunk, held[i].chunk, recv_.displacements_name,
                                output[held[i - 1].chunk].offset, output[held[i].chunk].offset));
    }
    return {};
  }

  // In place: every chunk that both buffers hold is the same memory in both, and nothing else overlaps.
  Result<Placement> placement_of(const UnequalBlocks& blocks) const {
    bool all_same = true, any = false;
    for (std::size_t chunk = 0; chunk < size_; ++chunk) {
      if (!holds(false, chunk) || !holds(true, chunk)) continue;
      const Stretch in = stretch(false, blocks.input, chunk), out = stretch(true, blocks.output, chunk);
      if (in.begin == in.end && out.begin == out.end) continue;
      any = true;
      all_same = all_same && in.begin == out.begin && in.end == out.end;
    }
    const bool in_place = any && all_same;
    const std::vector<Stretch> outputs = stretches(true, blocks.output);
    // The only block that is written stays where it is.
    const bool reads_only = !collective_.reduces() && collective_.output.held == Held::own_chunk;
    for (const Stretch& in : stretches(false, blocks.input)) {
      const auto after = std::ranges::upper_bound(outputs, in.begin, {}, &Stretch::end);
      if (after == outputs.end() || after->begin >= in.end) continue;
      if (in_place && (reads_only || after->chunk == in.chunk)) continue;
      return refuse(fmt::format("send and recv overlap but not as in place: {}",
                                collective_.counts == GivenCounts::both
                                    ? "both must hold the same blocks at the same addresses"
                                    : "this rank's block must be at one address in both"));
    }
    return in_place ? Placement::in_place : Placement::out_of_place;
  }

  CheckedCall checked(std::shared_ptr<const UnequalBlocks> blocks, Placement placement) const {
    const bool all_know = collective_.all_know_blocks();
    const std::size_t total = all_know ? total_of(blocks->input) : 0;
    const bool combines = collective_.reduces();
    CheckedCall call;
    call.placement = placement;
    call.bytes = total * element_bytes_;
    call.input_bytes = total * element_bytes_;
    call.signature = {.collective = arguments_.collective,
                      .dtype = static_cast<DataType>(arguments_.dtype),
                      .op = combines ? static_cast<ReduceOp>(arguments_.op) : ReduceOp::sum,
                      .wire = static_cast<WireFormat>(arguments_.wire),
                      .opaque_bytes = opaque_bytes_of(arguments_),
                      .root = collective_.has_root() ? arguments_.root : 0,
                      .count = all_know ? total : Signature::unknown_count,
                      .digest = all_know ? digest_of_table(blocks->input) : 0};
    call.blocks = {std::move(blocks)};
    return call;
  }

  const CallArguments& arguments_;
  const CollectiveInfo& collective_;
  const Rank rank_;
  const std::size_t own_, size_, element_bytes_;
  Side send_, recv_;
};

}  // namespace

Result<CheckedCall> validate_blocks(const CallArguments& arguments, Rank rank, Rank size) {
  return Validator(arguments, rank, size).run();
}

}  // namespace hocket::comm
