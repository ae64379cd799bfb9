// SideStream: the stream on which a process group's calls with tensors of one device are ordered.
//
// All that is asked of torch here holds for devices of every kind, so that it compiles without CUDA's headers.
#pragma once

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "bindings/torch/src/compat.hpp"

namespace hocket_torch {

class SideStream {
 public:
  explicit SideStream(c10::Device device);

  c10::Device device() const { return stream_.device(); }
  c10::Stream stream() const { return stream_; }
  void* handle() const { return handle_; }  // the CUstream behind it

  // What is put into it from now on comes after all that is in this thread's current stream.
  void follow_current();
  // What this thread puts into its current stream from now on comes after `end`.
  void lead_current(const c10::Event& end) const;
  // The point that it has reached by now.
  c10::Event end() const;
  // Their memory is given to nobody else before all that is in this stream is done.
  void uses(const Tensors& tensors) const;
  // The device may still be at work on them, and only the end of the communicator says when it is not.
  void keep(Tensors tensors);

 private:
  const c10::impl::VirtualGuardImpl device_type_;
  const c10::Stream stream_;  // from torch's pool, so it is never destroyed
  void* const handle_;
  std::mutex mutex_;
  c10::Event ready_;  // guarded by mutex_, as is kept_
  Tensors kept_;
};

// Those of a group, made when they are used first.
class SideStreams {
 public:
  // The one for calls with this tensor, and it follows this thread's current stream. Null: a tensor in host memory.
  std::shared_ptr<SideStream> for_call(const at::Tensor& tensor);

 private:
  std::shared_ptr<SideStream> known(c10::Device device);

  std::mutex mutex_;
  std::map<c10::DeviceIndex, std::shared_ptr<SideStream>> streams_;
};

}  // namespace hocket_torch
