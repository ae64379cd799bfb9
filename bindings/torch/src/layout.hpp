// Layout: where the blocks of a call lie that has one for each rank.
#pragma once

#include <optional>

#include "bindings/torch/src/tensors.hpp"

namespace hocket_torch {

// As Hocket's calls with blocks of unequal size take it; in elements of the type that is moved.
struct Layout {
  std::byte* base = nullptr;
  std::vector<std::size_t> counts, offsets;
};

// Lists of at least so many bytes on each rank are moved from and to the tensors themselves, wherever these lie. Copies
// of less cost little, and then calls with equal blocks are faster. All ranks know the number and must conclude the
// same.
constexpr std::size_t in_place_from = std::size_t{256} << 10;

// One block after the other.
Layout consecutive(void* base, std::vector<std::size_t> counts);
Layout consecutive(void* base, const Tensors& tensors);

// The tensors' own memory. None: where one has gaps, or two overlap, or one overlaps `other`, which the same call reads
// or writes, unless it is the same as block `rank`.
std::optional<Layout> in_place(const Tensors& tensors, const Tensors& other, int rank);

}  // namespace hocket_torch
