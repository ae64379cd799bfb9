#include "src/comm/split.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "src/base/hash.hpp"

namespace hocket::comm {
namespace {

Status invalid_split(SplitKind kind, const std::string& what) {
  return {Code::invalid_argument, fmt::format("{}: {}", name_of(kind), what)};
}

std::string describe_list(const SplitArguments& subset) {
  const std::size_t shown = std::min<std::size_t>(subset.count, subset.first_ranks.size());
  if (shown == 0) return "of no ranks";
  return fmt::format("of rank{} {}{}", subset.count == 1 ? "" : "s",
                     fmt::join(std::span(subset.first_ranks).first(shown), ", "),
                     subset.count > shown ? fmt::format(" … ({} in all)", subset.count) : "");
}

Status disagreement(std::span<const SplitArguments> all, Rank other) {
  const SplitArguments& first = all[0];
  const SplitArguments& second = all[static_cast<std::size_t>(other)];
  std::string what =
      fmt::format("rank {} called {} while rank 0 called {}", other, name_of(second.kind), name_of(first.kind));
  if (first.kind == second.kind && first.links != second.links) {
    const bool shares = second.links == LinkUse::parents;
    what = fmt::format("rank {} called {} {} share_links, rank 0 {} it", other, name_of(second.kind),
                       shares ? "with" : "without", shares ? "without" : "with");
  } else if (first.kind == second.kind) {
    const std::string here = describe_list(first), there = describe_list(second);
    what = fmt::format("rank {} called subset with a list {}, rank 0 with one {}{}", other, there, here,
                       here == there ? ", which goes on differently" : "");
  }
  return Status(Cause{.code = Code::mismatch,
                      .message = what + ": all ranks of the parent must make the same call",
                      .rank = 0,
                      .peer = other,
                      .operation = std::string(name_of(first.kind))});
}

}  // namespace

std::string_view name_of(SplitKind kind) {
  switch (kind) {
    case SplitKind::split: return "split";
    case SplitKind::duplicate: return "duplicate";
    case SplitKind::subset: return "subset";
  }
  return "unknown";
}

Result<SplitArguments> split_arguments(std::int32_t color, std::int32_t key) {
  if (color < 0 && color != HOCKET_NO_COLOR) {
    return invalid_split(SplitKind::split,
                         fmt::format("color is {}; it must be 0 or more, or HOCKET_NO_COLOR for no child", color));
  }
  return SplitArguments{.kind = SplitKind::split, .color = color, .key = key};
}

SplitArguments duplicate_arguments() {
  return {.kind = SplitKind::duplicate};
}

Result<SplitArguments> subset_arguments(const std::int32_t* ranks, std::int32_t count, Rank rank, Rank size) {
  if (count < 0 || count > size) {
    return invalid_split(SplitKind::subset,
                         fmt::format("count is {}; with {} ranks in the parent it must be 0 … {}", count, size, size));
  }
  if (count > 0 && ranks == nullptr)
    return invalid_split(SplitKind::subset, fmt::format("ranks is null, but count is {}", count));
  const std::span list(ranks, static_cast<std::size_t>(count));
  std::set<Rank> seen;
  SplitArguments arguments{.kind = SplitKind::subset,
                           .color = HOCKET_NO_COLOR,
                           .count = static_cast<std::uint32_t>(count),
                           .digest = Hash().add(list).value()};
  std::ranges::copy(list.first(std::min(list.size(), arguments.first_ranks.size())), arguments.first_ranks.begin());
  for (std::int32_t index = 0; index < count; ++index) {
    const Rank member = ranks[index];
    if (member < 0 || member >= size) {
      return invalid_split(SplitKind::subset,
                           fmt::format("ranks[{}] is {}; the parent's ranks are 0 … {}", index, member, size - 1));
    }
    if (!seen.insert(member).second) {
      return invalid_split(SplitKind::subset,
                           fmt::format("ranks names rank {} twice; each may stand in it once", member));
    }
    if (member == rank) {
      arguments.color = 0;
      arguments.key = index;
    }
  }
  return arguments;
}

Result<SplitRequest> split_request(const SplitArguments& arguments, const hocket_split_options& options) {
  if (options.timeout_ms < 0) {
    return invalid_split(
        arguments.kind,
        fmt::format("options.timeout_ms is {}; it must be positive, or 0 for the parent's", options.timeout_ms));
  }
  if (options.share_links != 0 && options.share_links != 1) {
    return invalid_split(arguments.kind,
                         fmt::format("options.share_links is {}; it must be 0 or 1", options.share_links));
  }
  SplitRequest request{.arguments = arguments, .timeout = timeout_of(options.timeout_ms), .name = {}};
  request.arguments.links = options.share_links == 1 ? LinkUse::parents : LinkUse::own;
  if (options.name != nullptr) request.name = options.name;
  if (request.name.size() > 256) return invalid_split(arguments.kind, "options.name has more than 256 characters");
  return request;
}

Result<ChildGroup> child_of(std::span<const SplitArguments> all, Rank rank) {
  std::set<std::int32_t> colors;
  ChildGroup child;
  const std::int32_t color = all[static_cast<std::size_t>(rank)].color;
  for (std::size_t index = 0; index < all.size(); ++index) {
    const SplitArguments& arguments = all[index];
    const auto other = static_cast<Rank>(index);
    if (arguments.kind != all[0].kind || arguments.links != all[0].links || arguments.count != all[0].count ||
        arguments.digest != all[0].digest) {
      return disagreement(all, other);
    }
    if (arguments.links == LinkUse::parents) child.id = std::max(child.id, arguments.id);
    if (arguments.color == HOCKET_NO_COLOR) continue;
    if (!colors.insert(arguments.color).second) child.all_alone = false;
    if (arguments.color == color) child.members.push_back(other);
  }
  if (child.members.empty()) return child;
  std::stable_sort(child.members.begin(), child.members.end(), [&](Rank left, Rank right) {
    return all[static_cast<std::size_t>(left)].key < all[static_cast<std::size_t>(right)].key;
  });
  const auto own = std::find(child.members.begin(), child.members.end(), rank);
  child.rank = static_cast<Rank>(own - child.members.begin());
  const SplitArguments& first = all[static_cast<std::size_t>(child.members.front())];
  if (first.links == LinkUse::own) child.id = first.id;
  return child;
}

}  // namespace hocket::comm
