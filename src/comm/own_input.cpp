#include "src/comm/own_input.hpp"

#include <cstring>

#include "src/exec/reduce.hpp"

namespace hocket {

void scale_input(const CallArguments& arguments, CheckedCall& checked, Binding& binding) {
  const std::size_t bytes = checked.input_bytes;
  binding.own_input = std::make_shared_for_overwrite<std::byte[]>(bytes);
  scale(checked.signature.dtype, binding.own_input.get(), binding.input, bytes / binding.reduction.element_bytes,
        arguments.scalar);
  binding.input = binding.own_input.get();
  checked.placement = Placement::out_of_place;
}

void copy_input(CheckedCall& checked, Binding& binding) {
  if (!checked.blocks) {
    binding.own_input = std::make_shared_for_overwrite<std::byte[]>(checked.input_bytes);
    std::memcpy(binding.own_input.get(), binding.input, checked.input_bytes);
  } else {
    const std::size_t element_bytes = size_of(checked.signature.dtype);
    auto packed = std::make_shared<UnevenBlocks>(*checked.blocks.table);
    std::size_t elements = 0;
    for (UnevenBlocks::Block& block : packed->input) {
      block.offset = elements;
      elements += block.count;
    }
    binding.own_input = std::make_shared_for_overwrite<std::byte[]>(elements * element_bytes);
    for (std::size_t chunk = 0; chunk < packed->input.size(); ++chunk) {
      const auto& [to, count] = packed->input[chunk];
      if (count == 0) continue;
      std::memcpy(binding.own_input.get() + to * element_bytes,
                  binding.input + checked.blocks.table->input[chunk].offset * element_bytes, count * element_bytes);
    }
    checked.blocks = {std::move(packed)};
  }
  binding.input = binding.own_input.get();
  checked.placement = Placement::out_of_place;
}

}  // namespace hocket
