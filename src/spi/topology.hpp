// Topology: which host each rank is on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/spi/types.hpp"

namespace hocket {

// A value: equal where the same ranks share hosts. Copies share one immutable list; where all ranks are on one host
// there is none, so that copying costs nothing. Hosts are numbered from 0 on, in the order of their lowest ranks.
class Topology {
 public:
  Topology() = default;  // all ranks on one host, however many
  // The host of each rank, by any numbers: ranks share a host where theirs are equal.
  explicit Topology(const std::vector<std::uint32_t>& host_by_rank) {
    List list;
    std::unordered_map<std::uint32_t, Rank> numbers;
    list.host_by_rank.reserve(host_by_rank.size());
    for (const std::uint32_t host : host_by_rank) {
      const auto known = numbers.try_emplace(host, static_cast<Rank>(numbers.size())).first;
      list.host_by_rank.push_back(known->second);
    }
    list.hosts = static_cast<Rank>(numbers.size());
    if (list.hosts > 1) list_ = std::make_shared<const List>(std::move(list));
  }

  Rank hosts() const { return list_ ? list_->hosts : 1; }
  Rank host_of(Rank rank) const { return list_ ? list_->host_by_rank[static_cast<std::size_t>(rank)] : 0; }
  // The ranks of each host, ascending. `size` is the number of all ranks.
  std::vector<std::vector<Rank>> ranks_by_host(Rank size) const {
    std::vector<std::vector<Rank>> ranks(static_cast<std::size_t>(hosts()));
    for (Rank rank = 0; rank < size; ++rank) ranks[static_cast<std::size_t>(host_of(rank))].push_back(rank);
    return ranks;
  }

  friend bool operator==(const Topology& a, const Topology& b) {
    return a.list_ == b.list_ || (a.list_ && b.list_ && a.list_->host_by_rank == b.list_->host_by_rank);
  }

 private:
  struct List {
    std::vector<Rank> host_by_rank;
    Rank hosts = 1;
  };

  std::shared_ptr<const List> list_;  // null: one host
};

// Rows and columns of ranks, row after row: rank r is in row r / columns.
struct Grid {
  Rank rows = 1, columns = 1;
};

// The grid of `size` ranks that is nearest to a square and no higher than wide; one row where `size` is a prime number.
constexpr Grid grid_of(Rank size) {
  Grid grid{1, size};
  for (Rank rows = 2; rows <= size / rows; ++rows) {
    if (size % rows == 0) grid = {rows, size / rows};
  }
  return grid;
}

}  // namespace hocket
