#include "bindings/torch/src/tensors.hpp"

#include <ATen/core/LegacyTypeDispatch.h>

#include <stdexcept>

#include "bindings/torch/src/memory.hpp"

namespace hocket_torch {
namespace {

// In torch's order of types, HOCKET_OPAQUE where Hocket has none.
hocket_dtype known_type(at::ScalarType type) {
  switch (type) {
    case at::kFloat: return HOCKET_FLOAT32;
    case at::kDouble: return HOCKET_FLOAT64;
    case at::kHalf: return HOCKET_FLOAT16;
    case at::kBFloat16: return HOCKET_BFLOAT16;
    case at::kInt: return HOCKET_INT32;
    case at::kLong: return HOCKET_INT64;
    case at::kShort: return HOCKET_INT16;
    case at::kChar: return HOCKET_INT8;
    case at::kByte: return HOCKET_UINT8;
    case at::kBool: return HOCKET_BOOL;
    case at::kComplexFloat: return HOCKET_COMPLEX64;
    case at::kComplexDouble: return HOCKET_COMPLEX128;
    default: return HOCKET_OPAQUE;
  }
}

// Whether they lie one after the other in one allocation.
bool adjacent(const Tensors& tensors) {
  const at::Tensor& first = tensors.front();
  std::int64_t offset = first.storage_offset();
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.is_contiguous() || !tensor.storage().is_alias_of(first.storage())) return false;
    if (tensor.storage_offset() != offset) return false;
    offset += tensor.numel();
  }
  return true;
}

std::int64_t total(const Tensors& tensors) {
  std::int64_t sum = 0;
  for (const at::Tensor& tensor : tensors) sum += tensor.numel();
  return sum;
}

at::Tensor whole(const Tensors& tensors) {
  return tensors.front().as_strided({total(tensors)}, {1}, tensors.front().storage_offset());
}

void then(std::function<void()>& back, std::function<void()> step) {
  if (!back) {
    back = std::move(step);
    return;
  }
  back = [first = std::move(back), step = std::move(step)] {
    first();
    step();
  };
}

}  // namespace

void refuse(const char* call, const std::string& why) {
  throw std::invalid_argument(std::string("ProcessGroupHocket::") + call + ": " + why);
}

void check_tensor(const char* call, const at::Tensor& tensor) {
  if (!tensor.defined()) refuse(call, "a tensor is undefined");
  if (!tensor.device().is_cpu() && !tensor.device().is_cuda()) {
    refuse(call, "only supports CPU tensors and CUDA tensors, but one is on " + tensor.device().str());
  }
  if (tensor.layout() != at::kStrided) refuse(call, "only supports dense tensors");
  // Its elements mean nothing without its scale, which may differ between ranks.
  if (tensor.is_quantized()) refuse(call, "Invalid scalar type: a quantized tensor; send its int_repr() and its scale");
}

void check_device(const char* call, const at::Tensor& tensor, const at::Tensor& like) {
  if (tensor.device() == like.device()) return;
  refuse(call, "all tensors of a call must be on one device, but they are on " + like.device().str() + " and " +
                   tensor.device().str());
}

void check_tensors(const char* call, const Tensors& tensors) {
  if (tensors.empty()) refuse(call, "requires non-empty tensor list");
  for (const at::Tensor& tensor : tensors) {
    check_tensor(call, tensor);
    check_device(call, tensor, tensors.front());
  }
}

const at::Tensor& only(const char* call, const Tensors& tensors, const char* kind) {
  if (tensors.size() != 1) refuse(call, std::string("requires a single-element ") + kind + "tensor list");
  check_tensor(call, tensors.front());
  return tensors.front();
}

void check_alike(const char* call, const Tensors& tensors, const at::Tensor& like) {
  for (const at::Tensor& tensor : tensors) {
    check_tensor(call, tensor);
    check_device(call, tensor, like);
    if (tensor.scalar_type() != like.scalar_type()) refuse(call, "invalid tensor type: all must have the same");
    if (tensor.numel() != like.numel()) refuse(call, "invalid tensor size: all must have the same");
  }
}

void check_root(const char* call, std::int64_t root, int size) {
  if (root < 0 || root >= size) refuse(call, "invalid root rank: " + std::to_string(root));
}

hocket_dtype type_of(const char* call, const at::Tensor& tensor) {
  const hocket_dtype type = known_type(tensor.scalar_type());
  if (type == HOCKET_OPAQUE) {
    refuse(call, std::string("Invalid scalar type: Hocket cannot reduce ") + c10::toString(tensor.scalar_type()));
  }
  return type;
}

MovedType moved_type_of(const at::Tensor& tensor) {
  const hocket_dtype type = known_type(tensor.scalar_type());
  if (type != HOCKET_OPAQUE) return {type, 1};
  return {HOCKET_UINT8, static_cast<std::size_t>(tensor.element_size())};
}

at::Tensor packed(const at::Tensor& tensor) {
  const at::AutoDispatchBelowADInplaceOrView no_autograd;
  return tensor.contiguous();
}

at::Tensor packed(const at::Tensor& tensor, std::function<void()>& back) {
  at::Tensor flat = packed(tensor);
  if (!flat.is_same(tensor)) then(back, [tensor, flat] { tensor.copy_(flat); });
  return flat;
}

at::Tensor joined(const Tensors& tensors) {
  const at::AutoDispatchBelowADInplaceOrView no_autograd;
  if (tensors.size() == 1) return tensors.front().contiguous();
  if (adjacent(tensors)) return whole(tensors);
  at::Tensor flat = scratch(total(tensors), tensors.front());
  std::int64_t offset = 0;
  for (const at::Tensor& tensor : tensors) {
    flat.narrow(0, offset, tensor.numel()).view(tensor.sizes()).copy_(tensor);
    offset += tensor.numel();
  }
  return flat;
}

at::Tensor room_for(const Tensors& tensors, std::function<void()>& back) {
  const at::AutoDispatchBelowADInplaceOrView no_autograd;
  if (adjacent(tensors)) return whole(tensors);
  at::Tensor flat = scratch(total(tensors), tensors.front());
  then(back, [tensors, flat] {
    std::int64_t offset = 0;
    for (const at::Tensor& tensor : tensors) {
      tensor.copy_(flat.narrow(0, offset, tensor.numel()).view(tensor.sizes()));
      offset += tensor.numel();
    }
  });
  return flat;
}

bool same_numbers(const Tensors& tensors) {
  for (const at::Tensor& tensor : tensors) {
    if (tensor.numel() != tensors.front().numel()) return false;
  }
  return true;
}

}  // namespace hocket_torch
