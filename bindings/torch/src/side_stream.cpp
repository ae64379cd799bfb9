#include "bindings/torch/src/side_stream.hpp"

#include <torch/csrc/utils/pybind.h>

#include <cstdint>
#include <stdexcept>

namespace hocket_torch {
namespace {

// torch's C++ interface has no function for this that holds without CUDA's headers in all versions; Python's has.
void* side_stream_handle_of(const c10::Stream& stream) {
  const c10::StreamGuard current(stream);
  const pybind11::gil_scoped_acquire gil;
  try {
    const auto asked = pybind11::module_::import("hocket_torch").attr("_handle_of_current_stream");
    return reinterpret_cast<void*>(asked(static_cast<int>(stream.device_index())).cast<std::uintptr_t>());
  } catch (const pybind11::error_already_set& error) {
    throw std::runtime_error(error.what());  // which may be destroyed without the GIL
  }
}

}  // namespace

SideStream::SideStream(c10::Device device)
    : device_type_(device.type()),
      stream_(device_type_.getStreamFromGlobalPool(device)),
      handle_(side_stream_handle_of(stream_)),
      ready_(device.type()) {}

void SideStream::follow_current() {
  const std::lock_guard lock(mutex_);
  ready_.record(device_type_.getStream(device()));
  ready_.block(stream_);
}

void SideStream::lead_current(const c10::Event& end) const {
  end.block(device_type_.getStream(device()));
}

c10::Event SideStream::end() const {
  c10::Event event(device().type());
  event.record(stream_);
  return event;
}

void SideStream::uses(const Tensors& tensors) const {
  for (const at::Tensor& tensor : tensors) {
    if (tensor.has_storage()) device_type_.recordDataPtrOnStream(tensor.storage().data_ptr(), stream_);
  }
}

void SideStream::keep(Tensors tensors) {
  const std::lock_guard lock(mutex_);
  kept_.insert(kept_.end(), tensors.begin(), tensors.end());
}

std::shared_ptr<SideStream> SideStreams::known(c10::Device device) {
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(device.index());
  return found == streams_.end() ? nullptr : found->second;
}

std::shared_ptr<SideStream> SideStreams::for_call(const at::Tensor& tensor) {
  const c10::Device device = tensor.device();
  if (device.is_cpu()) return nullptr;
  auto stream = known(device);
  if (!stream) {
    auto made = std::make_shared<SideStream>(device);  // without the lock, since it takes the GIL
    const std::lock_guard lock(mutex_);
    stream = streams_.emplace(device.index(), std::move(made)).first->second;
  }
  stream->follow_current();
  return stream;
}

}  // namespace hocket_torch
