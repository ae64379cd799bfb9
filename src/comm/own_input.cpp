#include "src/comm/own_input.hpp"

namespace hocket::comm {
namespace {

// Memory for the input alone, taken at once: what cannot be had is then found before anything moves.
std::shared_ptr<Staging> make_staging(std::size_t bytes) {
  auto staging = std::make_shared<Staging>(bytes);
  staging->allocate();
  return staging;
}

}  // namespace

void scale_input(const CallArguments& arguments, CheckedCall& checked, Binding& binding) {
  if (!binding.staging) {
    binding.staging = make_staging(checked.input_bytes);
    binding.staging->take(binding.input, checked.input_bytes, 0);
    checked.placement = Placement::out_of_place;
  }
  binding.staging->multiply_by(checked.signature.dtype, arguments.scalar);
}

void copy_input(CheckedCall& checked, Binding& binding) {
  if (!checked.blocks) {
    binding.staging = make_staging(checked.input_bytes);
    binding.staging->take(binding.input, checked.input_bytes, 0);
  } else {
    const std::size_t element_bytes = size_of(checked.signature);
    auto packed = std::make_shared<UnequalBlocks>(*checked.blocks.table);
    std::size_t elements = 0;
    for (UnequalBlocks::Block& block : packed->input) {
      block.offset = elements;
      elements += block.count;
    }
    binding.staging = make_staging(elements * element_bytes);
    for (std::size_t chunk = 0; chunk < packed->input.size(); ++chunk) {
      const std::size_t to = packed->input[chunk].offset, count = packed->input[chunk].count;
      const std::size_t from = checked.blocks.table->input[chunk].offset;
      if (count == 0) continue;
      binding.staging->take(binding.input + from * element_bytes, count * element_bytes, to * element_bytes);
    }
    checked.blocks = {std::move(packed)};
  }
  checked.placement = Placement::out_of_place;
}

}  // namespace hocket::comm
