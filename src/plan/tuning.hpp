// Tuning: tables of choices for groups of different shapes and calls of different kinds, as in a file that
// `hocket-plan choose --save` writes, and as in the library's own (class_tables.hpp):
//
//   # anything after this sign
//   tcp_streams=4
//   [4 ranks on 1 host]
//   allreduce=linear:4K,recursive_doubling:256K,ring
//   [9+ ranks, powers of two]
//   allreduce=rabenseifner:1M,ring
//   [any ranks, shared hosts, in rank order]
//   reduce=ordered_chain
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/plan/choices.hpp"

namespace hocket {

// Calls that need more of an algorithm than others do.
enum class CallKind : std::uint8_t { usual, in_rank_order, unequal_blocks, lower_precision, narrow_floats };
inline constexpr CallKind all_call_kinds[] = {CallKind::usual, CallKind::in_rank_order, CallKind::unequal_blocks,
                                              CallKind::lower_precision, CallKind::narrow_floats};

// "in rank order" and so on, as in heads of tables; empty for usual calls.
std::string_view name_of(CallKind kind);

// What a table is for.
struct TableHead {
  Rank first = 1, last = INT32_MAX;  // numbers of ranks
  bool powers_of_two = false;        // only such numbers
  Rank hosts = 0;                    // 0: however many
  bool shared_hosts = false;         // only where some ranks share a host, but not all
  CallKind kind = CallKind::usual;

  // "[4 ranks on 1 host]", with the brackets; nothing where it is no head.
  static std::optional<TableHead> parse(std::string_view text);
  std::string text() const;
  bool holds(Rank ranks, Rank hosts_of_ranks, CallKind kind_of_call) const;

  friend bool operator==(const TableHead&, const TableHead&) = default;
};

class Tuning {
 public:
  // `name` is that of the file: mistakes are told with it and the line. Codes as those of Choices.
  static Result<Tuning> parse(std::string_view text, std::string_view name);

  // What decides on a call: of the tables that hold, the narrowest that says something. Tables for certain hosts are
  // narrower than others, then those for fewer numbers of ranks, then those for powers of two.
  struct Found {
    const Algorithm* algorithm = nullptr;  // null: the tables say nothing
    const TableHead* head = nullptr;
    std::size_t bytes_max = any_bytes;
  };
  Found find(Rank ranks, Rank hosts, CallKind kind, Collective collective, std::size_t bytes) const;

  bool empty() const { return tables_.empty() && tcp_streams_ == 0; }
  // Connections to each peer over TCP; 0: nothing is said.
  int tcp_streams() const { return tcp_streams_; }
  void set_tcp_streams(int streams) { tcp_streams_ = streams; }
  // In place of the table that there was under this head.
  void set(const TableHead& head, Choices choices);
  std::string text() const;
  // Equal for equal tables, in whatever order they are written; 16 hexadecimal digits, or empty without tables.
  std::string digest() const;

 private:
  struct Table {
    TableHead head;
    Choices choices;
  };

  Status parse_line(std::string_view line);
  Status parse_before_tables(std::string_view line);

  int tcp_streams_ = 0;
  std::vector<Table> tables_;  // in the order in which they are found
};

}  // namespace hocket
