// Tensors as Hocket sees them: an address, a count and a type.
#pragma once

#include <functional>
#include <vector>

#include "bindings/torch/src/compat.hpp"
#include "hocket/hocket.h"

namespace hocket_torch {

// Each throws std::invalid_argument, which says that the function `call` of the process group was called wrongly.
void check_tensor(const char* call, const at::Tensor& tensor);
void check_device(const char* call, const at::Tensor& tensor, const at::Tensor& like);  // that they share one
void check_tensors(const char* call, const Tensors& tensors);  // also that there is one at least
// `kind`: "", or which list it is, "input " or "output ".
const at::Tensor& only(const char* call, const Tensors& tensors, const char* kind = "");
void check_alike(const char* call, const Tensors& tensors, const at::Tensor& like);  // in type and size
void check_root(const char* call, std::int64_t root, int size);
[[noreturn]] void refuse(const char* call, const std::string& why);

// The type in which elements are reduced; throws where Hocket has none.
hocket_dtype type_of(const char* call, const at::Tensor& tensor);
// The type in which they are moved; what Hocket does not know is moved as bytes, `width` of them for each element.
struct MovedType {
  hocket_dtype type = HOCKET_UINT8;
  std::size_t width = 1;
};
MovedType moved_type_of(const at::Tensor& tensor);

// A tensor without gaps that holds the same. `back` is given a step that copies it back where it is another tensor.
at::Tensor packed(const at::Tensor& tensor);
at::Tensor packed(const at::Tensor& tensor, std::function<void()>& back);

// Tensors one after the other in one: themselves where they lie like this in memory, else a copy.
at::Tensor joined(const Tensors& tensors);
// Where tensors that are only written are to be received: themselves, or memory from which `back` copies.
at::Tensor room_for(const Tensors& tensors, std::function<void()>& back);
bool same_numbers(const Tensors& tensors);  // of elements

inline std::size_t elements(const at::Tensor& tensor) {
  return static_cast<std::size_t>(tensor.numel());
}

}  // namespace hocket_torch
