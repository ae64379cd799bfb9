// Exchange: what a collective does to memory that every member can reach, as a list of parts. A part is one stretch of
// bytes, read from one member's input (or combined from everyone's) and written to one member's output (or everyone's).
// All direct paths, for all collectives, are loops over this list. Parts of a prefix combine the first members' inputs;
// one-shot alone runs these.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "src/plan/layout.hpp"
#include "src/spi/transport.hpp"

namespace hocket {

inline constexpr std::uint32_t everyone = UINT32_MAX;

struct Part {
  std::uint32_t source = everyone;    // member, or everyone: combined
  std::uint32_t target = everyone;    // member, or everyone
  std::size_t source_offset = 0;      // bytes into the source's input
  std::size_t target_offset = 0;      // bytes into the target's output
  std::size_t bytes = 0;              // 0: nothing to do
  std::uint32_t operands = everyone;  // where everyone's are combined: of so many members, from member 0 on

  bool comes_from(std::uint32_t member) const { return source == everyone ? member < operands : source == member; }
  bool goes_to(std::uint32_t member) const { return target == everyone || target == member; }
};

// Members from one to before another.
struct Members {
  std::uint32_t from = 0, until = 0;

  bool has(std::uint32_t member) const { return member >= from && member < until; }
  std::uint32_t count() const { return until - from; }
};

class Exchange {
 public:
  Exchange() = default;
  // `root` is a member's number. A part is at most about `grain` bytes, rounded to whole cache lines. `blocks`: as this
  // member has them, where they vary and all members know them all; null: they are equal.
  Exchange(const Signature& call, std::uint32_t root, std::uint32_t members, std::size_t grain,
           std::shared_ptr<const UnequalBlocks> blocks = nullptr);

  // Parts come in rounds of parts() each; the same part of every round lies in the same block, one behind the other.
  std::size_t rounds() const { return rounds_; }
  std::uint32_t parts() const { return parts_; }
  Part part(std::size_t round, std::uint32_t index) const;
  // Which part of a round a member takes as its `step`-th. Of blocks, those that its right neighbour gives come first,
  // so that members do not all read one member's memory at the same time.
  std::uint32_t index_in_turn(std::uint32_t member, std::uint32_t step) const {
    if (cuts_vector()) return step;
    return ((member + 1) % members_ * (parts_ / members_) + step) % parts_;
  }
  // Whether parts are cut from one vector, which is the same on all members that get it.
  bool cuts_vector() const { return collective_->is_vector() && !collective_->is_prefix(); }
  // Of such a vector: all its parts, of all rounds, in one.
  Part whole() const;
  // Of such a vector: one of `of` shares of all its parts, about equal, in whole cache lines.
  Part share(std::size_t index, std::size_t of) const;
  bool combines() const { return collective_->reduces(); }
  // How many members' inputs a member's output combines.
  std::uint32_t operands_of(std::uint32_t member) const;
  // Whether some members need not wait for all others: those who only give, and where some give nothing.
  bool runs_ahead() const { return collective_->runs_ahead() || some_block_is_empty_; }
  // Whose inputs a member takes, and perhaps its own.
  Members needed_by(std::uint32_t member) const;
  // With equal blocks, also where they vary.
  const CollectiveInfo& collective() const { return *collective_; }
  std::uint32_t members() const { return members_; }
  std::uint32_t root() const { return root_; }  // member 0 where the collective has none
  std::size_t grain() const { return grain_; }
  // How many parts of one round come from one member, and which of these a part is.
  std::uint32_t parts_per_source() const;
  std::uint32_t place_at_source(std::uint32_t index) const;

  // Bytes of a member's input and output; 0 where it has none.
  std::size_t input_bytes(std::uint32_t member) const {
    if (blocks_ != nullptr && collective_->input.held == Held::own_chunk) return block_bytes(member);
    return member == root_ ? root_bytes_.in : other_bytes_.in;
  }
  std::size_t output_bytes(std::uint32_t member) const {
    if (blocks_ != nullptr && collective_->output.held == Held::own_chunk) return block_bytes(member);
    return member == root_ ? root_bytes_.out : other_bytes_.out;
  }
  // The most that any member has.
  std::size_t input_bytes_max() const {
    return members_ == 1 ? root_bytes_.in : std::max(root_bytes_.in, other_bytes_.in);
  }
  std::size_t output_bytes_max() const {
    return members_ == 1 ? root_bytes_.out : std::max(root_bytes_.out, other_bytes_.out);
  }
  // What the output of one member takes of another one's input, where that gives and this takes; the most, where blocks
  // vary.
  std::size_t block_bytes() const { return block_bytes_; }
  // That of one block, and where it begins in a buffer that holds them all.
  std::size_t block_bytes(std::uint32_t block) const {
    return blocks_ != nullptr ? blocks_->input[block].count * element_bytes_ : block_bytes_;
  }
  std::size_t input_offset(std::uint32_t block) const {
    return blocks_ != nullptr ? blocks_->input[block].offset * element_bytes_ : block * block_bytes_;
  }
  std::size_t output_offset(std::uint32_t block) const {
    return blocks_ != nullptr ? blocks_->output[block].offset * element_bytes_ : block * block_bytes_;
  }
  // Whether the blocks of this member's output lie as on all members whose blocks adjoin.
  bool blocks_adjoin() const;
  // What one member gives another one.
  std::size_t bytes_given(std::uint32_t source, std::uint32_t target) const;
  bool only_root_gives() const { return collective_->input.holders == Holders::root; }
  bool only_root_takes() const { return collective_->output.holders == Holders::root; }
  // The largest buffer that any member has.
  std::size_t buffer_bytes_max() const;

 private:
  // Of one member's buffers.
  struct Bytes {
    std::size_t in = 0, out = 0;
  };
  Bytes bytes_of(std::uint32_t member) const;
  void take_blocks(std::shared_ptr<const UnequalBlocks> blocks);
  Members needed_by_blocks(std::uint32_t member) const;  // where some are empty, but not all
  void cut(std::size_t bytes, std::size_t grain);

  const CollectiveInfo* collective_ = &info_of(Collective::barrier);
  std::uint32_t root_ = 0, members_ = 1, parts_ = 1;
  std::size_t element_bytes_ = 1;
  std::size_t block_bytes_ = 0;                            // of the vector, or of one block
  std::shared_ptr<const UnequalBlocks> blocks_ = nullptr;  // where they vary
  bool some_block_is_empty_ = false;                       // but not all
  Bytes root_bytes_, other_bytes_;                         // the most, where blocks vary
  std::size_t unit_ = 1, grain_ = 0, rounds_ = 0;
};

}  // namespace hocket
