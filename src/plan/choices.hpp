// Choices: which algorithms somebody wants, by collective and size: HOCKET_ALGORITHM, or a table that hocket-plan has
// written. Names the algorithm only; what it is chosen from, and what holds otherwise, is select_algorithm()'s.
//
//   ring                                        for every collective that has it
//   allreduce=linear:4K,recursive_doubling:256K,ring;broadcast=chain
//
// Entries are separated by semicolons. After a collective come algorithms, each with the largest number of bytes (of
// the larger buffer) for which it is wanted; sizes rise, and the last algorithm may go without. "auto" is an algorithm,
// too: the library's own choice, as everywhere where nothing is said.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/plan/plan.hpp"
#include "src/spi/schedule.hpp"
#include "src/spi/status.hpp"

namespace hocket {

inline constexpr std::size_t any_bytes = SIZE_MAX;

class Choices {
 public:
  // not_found: a collective or an algorithm that there is none of. invalid_argument: other mistakes. Both name the
  // part of the text and what there is. Empty text: no choices.
  static Result<Choices> parse(std::string_view text);

  // An algorithm's name, or "auto". Lives as long as the program.
  std::string_view wanted(Collective collective, std::size_t bytes) const {
    return entries_.empty() ? everywhere_ : wanted_among_entries(collective, bytes);
  }
  bool empty() const { return entries_.empty() && everywhere_ == automatic_algorithm; }
  // A collective and an algorithm wanted for it that does not take sums in rank order; nothing where all do.
  std::optional<std::pair<Collective, std::string_view>> out_of_rank_order() const;
  // One range of one collective. Requires that ranges are added in rising order, and that the collective has it.
  void add(Collective collective, std::size_t bytes_max, std::string_view algorithm);
  // What parse() would make the same choices of; equal for equal choices. Entries are separated by `separator`.
  std::string text(std::string_view separator = ";") const;
  // The text; of a long one, the beginning and a digest. At most 100 characters, equal for equal choices.
  std::string summary() const;

 private:
  struct Range {
    std::size_t bytes_max;
    std::string_view algorithm;  // the catalog's
  };
  struct Entry {
    Collective collective;
    std::vector<Range> ranges;
  };

  std::string_view wanted_among_entries(Collective collective, std::size_t bytes) const;
  Entry* find(Collective collective);
  Status parse_entry(std::string_view text);
  Status parse_ranges(Collective collective, std::string_view text);

  std::string_view everywhere_ = automatic_algorithm;
  std::vector<Entry> entries_;  // in the order of collectives
};

// Tables of choices for groups of different shapes, as in a file that `hocket-plan choose --save` writes:
//
//   # anything after this sign
//   tcp_streams=4
//   [4 ranks on 1 host]
//   allreduce=linear:4K,recursive_doubling:256K,ring
//   [8 ranks on 2 hosts]
//   allreduce=two_level
class Tuning {
 public:
  // `name` is that of the file: mistakes are told with it and the line. Codes as those of Choices.
  static Result<Tuning> parse(std::string_view text, std::string_view name);

  // "auto" where the tables say nothing about such a group or size.
  std::string_view wanted(Rank ranks, Rank hosts, Collective collective, std::size_t bytes) const {
    return tables_.empty() ? automatic_algorithm : find(ranks, hosts).wanted(collective, bytes);
  }
  bool empty() const { return tables_.empty() && tcp_streams_ == 0; }
  // Connections to each peer over TCP; 0: nothing is said.
  int tcp_streams() const { return tcp_streams_; }
  void set_tcp_streams(int streams) { tcp_streams_ = streams; }
  // In place of the table that there was for groups of this shape.
  void set(Rank ranks, Rank hosts, Choices choices);
  std::string text() const;
  // Equal for equal tables, in whatever order they are written; 16 hexadecimal digits, or empty without tables.
  std::string digest() const;

 private:
  struct Table {
    Rank ranks = 0, hosts = 0;
    Choices choices;
  };

  const Choices& find(Rank ranks, Rank hosts) const;
  Status parse_before_tables(std::string_view line);

  int tcp_streams_ = 0;
  std::vector<Table> tables_;  // in the order of ranks and hosts
};

}  // namespace hocket
