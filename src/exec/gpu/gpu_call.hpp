// GpuCall: a call on memory of a GPU, as its caller's stream orders it.
#pragma once

#include <memory>
#include <utility>

#include "src/spi/gpu.hpp"

namespace hocket {

class GpuCall {
 public:
  // `stream`: the caller's. Code::unsupported where that may not be waited for.
  static Result<GpuCall> make(Gpu& gpu, GpuStream stream) {
    if (Status fit = gpu.check_stream(stream); !fit.ok()) return fit;
    auto called = gpu.make_event();
    if (!called.ok()) return called.status();
    return GpuCall(gpu, stream, std::move(*called));
  }

  Gpu& gpu() const { return *gpu_; }
  // The call is made: what its caller has put into the stream until now comes before it. A persistent call is made
  // again and again, and each time the stream must be fit for it.
  Status mark() const {
    if (Status fit = gpu_->check_stream(stream_); !fit.ok()) return fit;
    return gpu_->record(stream_, *called_);
  }
  // What is put into `own` from now on comes after that.
  Status let_wait(GpuStream own) const { return gpu_->wait(own, *called_); }
  // What the caller puts into the stream from now on comes after the event.
  Status go_on_after(GpuEvent& event) const { return gpu_->wait(stream_, event); }

 private:
  GpuCall(Gpu& gpu, GpuStream stream, std::unique_ptr<GpuEvent> called)
      : gpu_(&gpu), stream_(stream), called_(std::move(called)) {}

  Gpu* gpu_;
  GpuStream stream_;
  std::unique_ptr<GpuEvent> called_;
};

}  // namespace hocket
