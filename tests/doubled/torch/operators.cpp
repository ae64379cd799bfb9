// The few operators of torch that the backend, and the tests, use on the device: on the host, in the current stream.
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/view_native.h>
#include <torch/library.h>

#include <algorithm>

#include "tests/doubled/torch/device.hpp"

namespace hocket::testing_support {
namespace {

// Which template that is differs between versions of torch.
template <class Given>
struct OptionalLike;
template <template <class> class Holder, class Held>
struct OptionalLike<Holder<Held>> {
  template <class Other>
  using Of = Holder<Other>;
};
template <class Held>
using Optional = OptionalLike<decltype(at::TensorOptions().layout_opt())>::Of<Held>;

template <class Work>
void put_on(Work work) {
  put([work = std::move(work)]() mutable {
    const at::AutoDispatchBelowADInplaceOrView no_autograd;
    work();
  });
}

at::Tensor empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides, Optional<at::ScalarType> type,
                         Optional<at::Layout>, Optional<at::Device>, Optional<bool>) {
  return make_tensor(sizes, strides, type.value_or(at::kFloat));
}

at::Tensor empty(at::IntArrayRef sizes, Optional<at::ScalarType> type, Optional<at::Layout>, Optional<at::Device>,
                 Optional<bool>, Optional<at::MemoryFormat>) {
  std::vector<std::int64_t> strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<std::int64_t>(sizes[i], 1);
  return make_tensor(sizes, strides, type.value_or(at::kFloat));
}

at::Tensor& copy(at::Tensor& self, const at::Tensor& from, bool) {
  put_on([to = as_touched(self), from = as_touched(from)]() mutable { to.copy_(from); });
  // As with host memory that is not pinned.
  if (self.device().is_cpu() || from.device().is_cpu()) finish(current_stream());
  return self;
}

at::Tensor& add(at::Tensor& self, const at::Tensor& other, const at::Scalar& factor) {
  put_on([self = as_touched(self), other = as_touched(other), factor]() mutable { self.add_(other, factor); });
  return self;
}

TORCH_LIBRARY_IMPL(aten, CUDA, library) {
  library.impl("empty.memory_format", TORCH_FN(empty));
  library.impl("empty_strided", TORCH_FN(empty_strided));
  library.impl("copy_", TORCH_FN(copy));
  library.impl("add_.Tensor", TORCH_FN(add));
  library.impl("as_strided", TORCH_FN(at::native::as_strided_tensorimpl));
  library.impl("view", TORCH_FN(at::native::view));
}

}  // namespace
}  // namespace hocket::testing_support
