#include "src/plan/expressions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace hocket {
namespace {

std::uint64_t pair_key(std::uint32_t high, std::uint32_t low) {
  return std::uint64_t{high} << 32 | low;
}

}  // namespace

// A new expression to which nobody has contributed yet.
Expressions::Id Expressions::add(std::uint32_t chunk, std::uint32_t roundings) {
  chunks_.push_back(chunk);
  roundings_.push_back(roundings);
  sets_.resize(sets_.size() + words_);
  return static_cast<Id>(chunks_.size() - 1);
}

Expressions::Id Expressions::contribution(Rank rank, std::uint32_t chunk) {
  const auto [entry, is_new] = leaves_.try_emplace(pair_key(static_cast<std::uint32_t>(rank), chunk));
  if (is_new) {
    entry->second = add(chunk, 0);
    sets_[entry->second * words_ + static_cast<std::size_t>(rank) / 64] = std::uint64_t{1} << (rank % 64);
  }
  return entry->second;
}

Expressions::Id Expressions::combine(Id left, Id right) {
  const bool exchange = operands_ == Operands::may_be_exchanged && left > right;
  const auto [entry, is_new] = combined_.try_emplace(exchange ? pair_key(right, left) : pair_key(left, right));
  if (is_new) {
    entry->second = add(chunks_[left], std::max(roundings_[left], roundings_[right]));
    for (std::size_t word = 0; word < words_; ++word) {
      sets_[entry->second * words_ + word] = sets_[left * words_ + word] | sets_[right * words_ + word];
    }
  }
  return entry->second;
}

Expressions::Id Expressions::round(Id of) {
  const auto [entry, is_new] = rounded_.try_emplace(of);
  if (is_new) {
    entry->second = add(chunks_[of], roundings_[of] + 1);
    for (std::size_t word = 0; word < words_; ++word) {
      sets_[entry->second * words_ + word] = sets_[of * words_ + word];
    }
  }
  return entry->second;
}

Expressions::Id Expressions::left_fold(std::uint32_t chunk, Rank ranks) {
  std::vector<Id>& folds = folds_[chunk];
  while (folds.size() < static_cast<std::size_t>(ranks)) {
    const Id next = contribution(static_cast<Rank>(folds.size()), chunk);
    folds.push_back(folds.empty() ? next : combine(folds.back(), next));
  }
  return folds[static_cast<std::size_t>(ranks) - 1];
}

Rank Expressions::last(Id id) const {
  std::size_t word = words_ - 1;
  while (word > 0 && ranks(id)[word] == 0) --word;
  return static_cast<Rank>(word * 64) + static_cast<Rank>(std::bit_width(ranks(id)[word])) - 1;
}

std::optional<Rank> Expressions::first_in_both(Id left, Id right) const {
  for (std::size_t word = 0; word < words_; ++word) {
    const std::uint64_t both = ranks(left)[word] & ranks(right)[word];
    if (both != 0) return static_cast<Rank>(word * 64) + std::countr_zero(both);
  }
  return std::nullopt;
}

std::optional<Rank> Expressions::first_missing(Id id) const {
  for (std::size_t word = 0; word < words_; ++word) {
    const Rank rank = static_cast<Rank>(word * 64) + std::countr_one(ranks(id)[word]);
    if (rank < static_cast<Rank>(word * 64) + 64) return rank < size_ ? std::optional(rank) : std::nullopt;
  }
  return std::nullopt;
}

std::string Expressions::describe(Id id) const {
  std::string list;
  for (Rank rank = 0; rank < size_; ++rank) {
    if (!has(id, rank)) continue;
    Rank last = rank;
    while (last + 1 < size_ && has(id, last + 1)) ++last;
    if (!list.empty()) list += ", ";
    list += last == rank ? fmt::format("{}", rank) : fmt::format("{}-{}", rank, last);
    rank = last;
  }
  const bool one = list.find_first_of(",-") == std::string::npos;
  const std::string_view rounded = roundings(id) == 0 ? "" : roundings(id) == 1 ? ", rounded" : ", rounded repeatedly";
  return fmt::format("chunk {} of {} {}{}", chunk(id), one ? "rank" : "ranks", list, rounded);
}

}  // namespace hocket
