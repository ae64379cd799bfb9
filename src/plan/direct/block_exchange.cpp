#include "src/plan/direct/block_exchange.hpp"

namespace hocket {
namespace {

BlockExchange::Size size_max_of(std::size_t element_bytes, std::uint32_t members) {
  return BlockExchange::block_bytes_max(members) / std::max<std::size_t>(element_bytes, 1);
}

// Whether a member gives to another one, or to itself.
bool gives(const CollectiveInfo& collective, std::uint32_t source, std::uint32_t target, std::uint32_t root) {
  const auto its_root = static_cast<Rank>(root);
  return collective.input.is_on(static_cast<Rank>(source), its_root) &&
         collective.output.is_on(static_cast<Rank>(target), its_root);
}

}  // namespace

BlockExchange::BlockExchange(const Signature& call, const UnequalBlocks& blocks, const Place& place)
    : place_(place),
      element_bytes_(size_of(call)),
      size_max_(size_max_of(element_bytes_, place.members)),
      packs_(true),
      traffic_(place.members) {
  list_packed(info_of(call.collective), blocks);
}

void BlockExchange::list_packed(const CollectiveInfo& collective, const UnequalBlocks& blocks) {
  const auto& [self, root, members] = place_;
  // The one block that a member has is its own.
  const bool has_all = collective.input.held == Held::all_chunks;
  own_size_in_payloads_ = has_all ? self * sizeof(Size) : 0;
  blocks_in_payloads_ = (has_all ? members : 1) * sizeof(Size);
  for (std::uint32_t member = 0; member < members; ++member) {
    const bool given = gives(collective, self, member, root), taken = gives(collective, member, self, root);
    const UnequalBlocks::Block& from = blocks.input[has_all ? member : self];
    const UnequalBlocks::Block& to = blocks.output[collective.output.held == Held::all_chunks ? member : self];
    if (member != self) {
      if (given) give(member, from);
      if (taken) take(member, to);
      continue;
    }
    if (given && has_all) sizes_.push_back(0);  // so that all have their places
    if (!given || from.count == 0) continue;
    parts_.push_back({.source = self,
                      .target = self,
                      .source_offset = from.offset * element_bytes_,
                      .target_offset = to.offset * element_bytes_,
                      .bytes = from.count * element_bytes_});
  }
  sizes_bytes_ = sizes_.size() * sizeof(Size);
}

void BlockExchange::give(std::uint32_t target, const UnequalBlocks::Block& block) {
  const std::size_t bytes = packed_bytes(block.count);
  sizes_.push_back(block.count);
  if (bytes != 0) packed_.push_back({block.offset * element_bytes_, bytes});
  block_bytes_ += bytes;
  traffic_[target].given = bytes;
}

void BlockExchange::take(std::uint32_t source, const UnequalBlocks::Block& block) {
  const std::size_t bytes = packed_bytes(block.count);
  taken_.push_back({.source = source, .size = block.count, .offset = block.offset * element_bytes_, .bytes = bytes});
  traffic_[source].taken = bytes;
}

// ---- over links -----------------------------------------------------------------------------------------------------

std::optional<UnequalBlocks> BlockExchange::over_links(const Signature& call, const UnequalBlocks& blocks,
                                                       const Place& place) {
  const CollectiveInfo& collective = info_of(call.collective);
  const Size size_max = size_max_of(size_of(call), place.members);
  const bool gives_itself = gives(collective, place.self, place.self, place.root);
  std::optional<UnequalBlocks> left = blocks;
  bool any = false;
  for (auto* table : {&left->input, &left->output}) {
    for (std::uint32_t chunk = 0; chunk < place.members; ++chunk) {
      UnequalBlocks::Block& block = (*table)[chunk];
      const bool is_large = block.count > size_max && (chunk != place.self || !gives_itself);
      any |= is_large;
      if (!is_large) block = {.offset = 0, .count = 0, .elsewhere = true};
    }
  }
  return any ? left : std::nullopt;
}

}  // namespace hocket
