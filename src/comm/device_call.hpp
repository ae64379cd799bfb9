// Calls on memory of GPUs: what of a call's data lies there, and the same call on host memory that mirrors it.
#pragma once

#include <cstddef>
#include <optional>

#include "src/comm/validate.hpp"
#include "src/exec/gpu/host_mirror.hpp"
#include "src/exec/staging.hpp"

namespace hocket::comm {

struct DeviceCall {
  Gpu* gpu = nullptr;  // null: all of the call's data is host memory, and the rest means nothing
  bool whole = false;  // all of it lies on the GPU
  MirrorLayout layout = {};
  // Where the buffers begin in the mirror; nothing: it is the caller's.
  std::optional<std::size_t> send_at = {}, recv_at = {};

  explicit operator bool() const { return gpu != nullptr; }
  CallArguments on_host(CallArguments call, std::byte* memory) const {
    if (send_at) call.send = memory + *send_at;
    if (recv_at) call.recv = memory + *recv_at;
    return call;
  }
};

// Code::unsupported, naming the buffer: memory of a GPU that cannot be used, or buffers on several GPUs.
Result<DeviceCall> find_device_data(Gpus& gpus, const CallArguments& call, const CheckedCall& checked, Rank rank,
                                    Rank size);
// The same of a message of a rank to itself, whose two halves fit.
Result<DeviceCall> find_device_data_to_self(Gpus& gpus, const CallArguments& both);
// The same of data that is packed; what lies on the host is packed in the mirror, too.
Result<DeviceCall> find_device_data(Gpus& gpus, const CallArguments& call, const Staging& staging);

}  // namespace hocket::comm
