// A CUDA device for a PyTorch that has none: the double of a GPU, with streams, events and memory as torch asks for
// them.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <vector>

#include "tests/doubled/torch/gpu.hpp"

namespace hocket::testing_support {

inline const c10::Device the_device(c10::DeviceType::CUDA, 0);

// Streams by torch's numbers; 0 is the default one.
GpuStream handle_of(c10::StreamId stream);
c10::StreamId current_stream();
c10::StreamId exchange_current_stream(c10::StreamId stream);
bool is_idle(c10::StreamId stream);
void finish(c10::StreamId stream);  // throws where it is not done within some seconds

// Memory that goes back when it is done with what was in its streams: the one it was made on, and those that torch was
// told of. What else uses it after that ends the process.
at::Tensor make_tensor(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType type);
std::size_t tensors_alive();
std::vector<c10::StreamId> streams_told_of(const at::Tensor& tensor);

// In the current stream of this thread.
void put(std::function<void()> work);
// What a stream's thread finds where the tensor lies.
at::Tensor as_touched(const at::Tensor& tensor);

}  // namespace hocket::testing_support
