// What memory holds while the verifier runs: which inputs were combined, and in what order.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/spi/types.hpp"

namespace hocket {

// Expression trees over contributions. Equal trees have equal numbers. The two operands of a sum may be exchanged,
// unless each is to keep its side: x + y and y + x have equal bits, (x + y) + z and x + (y + z) have not.
class Expressions {
 public:
  using Id = std::uint32_t;
  static constexpr Id none = UINT32_MAX;

  enum class Operands : std::uint8_t { may_be_exchanged, keep_their_sides };

  explicit Expressions(Rank size, Operands operands = Operands::may_be_exchanged)
      : size_(size), operands_(operands), words_((static_cast<std::size_t>(size) + 63) / 64) {}

  Id contribution(Rank rank, std::uint32_t chunk);  // chunk `chunk` of the input of `rank`
  Id combine(Id left, Id right);                    // requires both to be of one chunk
  Id round(Id of);                                  // encoded, with lower precision
  Id left_fold(std::uint32_t chunk, Rank ranks);  // ((x0 ∘ x1) ∘ x2) ∘ … of ranks 0 … `ranks` - 1, at least one

  std::uint32_t chunk(Id id) const { return chunks_[id]; }
  bool has(Id id, Rank rank) const { return ranks(id)[rank / 64] >> (rank % 64) & 1; }
  Rank last(Id id) const;  // the highest rank that has contributed
  std::optional<Rank> first_in_both(Id left, Id right) const;
  std::optional<Rank> first_missing(Id id) const;                  // the first rank that has not contributed
  std::uint32_t roundings(Id id) const { return roundings_[id]; }  // of the contribution with the most
  std::string describe(Id id) const;  // "chunk 3 of ranks 0-2, 5", "chunk 3 of rank 1, rounded"

 private:
  Id add(std::uint32_t chunk, std::uint32_t roundings);
  std::span<const std::uint64_t> ranks(Id id) const { return {sets_.data() + id * words_, words_}; }

  Rank size_;
  Operands operands_;
  std::size_t words_;                               // of one set of ranks
  std::vector<std::uint32_t> chunks_;               // by id
  std::vector<std::uint32_t> roundings_;            // by id
  std::vector<std::uint64_t> sets_;                 // by id: the ranks that have contributed
  std::unordered_map<std::uint64_t, Id> leaves_;    // by rank and chunk
  std::unordered_map<std::uint64_t, Id> combined_;  // by both operands, in the order of ids where exchanged
  std::unordered_map<Id, Id> rounded_;
  std::unordered_map<std::uint32_t, std::vector<Id>> folds_;  // by chunk, then by number of ranks from 1 on
};

}  // namespace hocket
