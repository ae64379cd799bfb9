// Split: how the ranks of a communicator agree on its children. Every rank says what it wants; all see what all said,
// and each concludes the same.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hocket/hocket.h"
#include "src/spi/status.hpp"

namespace hocket::comm {

enum class SplitKind : std::uint16_t { split = 1, duplicate = 2, subset = 3 };
std::string_view name_of(SplitKind kind);

// What a child's messages travel on: links of its own, or its parent's.
enum class LinkUse : std::uint16_t { own, parents };

// What one rank wants; its bytes travel as they are.
struct SplitArguments {
  SplitKind kind = SplitKind::split;
  LinkUse links = LinkUse::own;
  std::int32_t color = 0;  // HOCKET_NO_COLOR: no child
  std::int32_t key = 0;
  std::uint32_t count = 0;                       // of a subset: its ranks
  std::uint64_t digest = 0;                      // of a subset: of the list of its ranks
  std::array<std::int32_t, 8> first_ranks = {};  // of a subset: what the list begins with, for messages
  // How a child is told apart. With links of its own: random, and that of the child's rank 0 is its group, see
  // TransportConfig. On its parent's: the next free number, and the largest of all is what it has in tags.
  std::uint64_t id = 0;
};

// The same, and what else the child is to be like; zero and empty: as the parent.
struct SplitRequest {
  SplitArguments arguments;
  std::chrono::milliseconds timeout{0};
  std::string name;
};

// Code::invalid_argument, naming the argument.
Result<SplitArguments> split_arguments(std::int32_t color, std::int32_t key);
SplitArguments duplicate_arguments();
// Of parent's rank `rank` of `size`; `ranks` may be null where `count` is 0.
Result<SplitArguments> subset_arguments(const std::int32_t* ranks, std::int32_t count, Rank rank, Rank size);

// Code::invalid_argument, naming the option.
Result<SplitRequest> split_request(const SplitArguments& arguments, const hocket_split_options& options);

// The child that one rank is in.
struct ChildGroup {
  std::vector<Rank> members;  // the parent's ranks in the order of the child's; empty: no child
  Rank rank = no_rank;        // of this rank in the child
  std::uint64_t id = 0;       // see SplitArguments
  bool all_alone = true;      // no child of this split has more than one rank
};

// `all`: what every rank wants, by the parent's rank. Code::mismatch, alike on all ranks, where they called different
// functions, gave different lists or want different links.
Result<ChildGroup> child_of(std::span<const SplitArguments> all, Rank rank);

}  // namespace hocket::comm
