#include "src/comm/device_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "src/base/arithmetic.hpp"

namespace hocket::comm {
namespace {

constexpr std::size_t alignment = cache_line_bytes;

// A stretch of a buffer that the call uses, in bytes.
struct Stretch {
  std::size_t offset, bytes;
};

// One of a call's buffers.
struct CallSide {
  const void* data = nullptr;
  std::vector<Stretch> stretches = {};
  bool on_device = false;

  std::size_t end() const {
    std::size_t end = 0;
    for (const Stretch& stretch : stretches) end = std::max(end, stretch.offset + stretch.bytes);
    return end;
  }
};

// The GPU of one buffer, which must be that of those before, if these lie on one.
Status add_gpu(Gpus& gpus, CollectiveRef collective, const char* name, const void* data, Gpu*& gpu, bool& on_device) {
  const auto found = gpus.gpu_at(data);
  if (!found.ok()) {
    return {Code::unsupported, fmt::format("{}: {} is {}; copy it to the host first", name_of(collective->collective),
                                           name, found.status().message())};
  }
  on_device = *found != nullptr;
  if (!on_device) return {};
  if (gpu != nullptr && gpu != *found) {
    return {Code::unsupported,
            fmt::format("{}: {} lies on {}, but other data of the call on {}; all of it must lie on one GPU, or on the "
                        "host",
                        name_of(collective->collective), name, (*found)->name(), gpu->name())};
  }
  gpu = *found;
  return {};
}

std::vector<Stretch> stretches_of(const std::vector<UnequalBlocks::Block>& table, const BufferShape& buffer,
                                  const CallArguments& call, std::size_t element_bytes, Rank rank) {
  std::vector<Stretch> stretches;
  for (std::size_t chunk = 0; chunk < table.size(); ++chunk) {
    const UnequalBlocks::Block& block = table[chunk];
    if (block.count == 0 || !buffer.has(static_cast<std::uint32_t>(chunk), rank, call.root)) continue;
    stretches.push_back({block.offset * element_bytes, block.count * element_bytes});
  }
  return stretches;
}

// Both buffers one behind the other, or as they lie where they overlap.
void lay_out(DeviceCall& found, const CallSide& send, const CallSide& recv) {
  const auto from = reinterpret_cast<std::uintptr_t>(send.data), to = reinterpret_cast<std::uintptr_t>(recv.data);
  const bool overlap = send.on_device && recv.on_device && from < to + recv.end() && to < from + send.end();
  const std::uintptr_t begin = std::min(from, to);
  std::size_t bytes = 0;
  const auto place = [&](const CallSide& side, std::uintptr_t at) {
    const std::size_t offset = overlap ? at - begin : round_up(bytes, alignment);
    bytes = std::max(bytes, offset + side.end());
    return offset;
  };
  if (send.on_device) found.send_at = place(send, from);
  if (recv.on_device) found.recv_at = place(recv, to);
  found.layout.bytes = bytes;
  for (const auto& [offset, length] : send.stretches) {
    if (send.on_device) {
      found.layout.take(static_cast<const std::byte*>(send.data) + offset, length, *found.send_at + offset, true);
    }
  }
  for (const auto& [offset, length] : recv.stretches) {
    if (recv.on_device) {
      found.layout.give(static_cast<std::byte*>(const_cast<void*>(recv.data)) + offset, length, *found.recv_at + offset,
                        true);
    }
  }
}

}  // namespace

Result<DeviceCall> find_device_data(Gpus& gpus, const CallArguments& call, const CheckedCall& checked, Rank rank,
                                    Rank size) {
  const CollectiveInfo& collective = info_of(call.collective);
  const Blocks blocks = blocks_of(collective, rank, call.root, size);
  CallSide send{.data = call.send}, recv{.data = call.recv};
  DeviceCall found;
  Status status;
  if (blocks.send != 0) status = add_gpu(gpus, collective, "send", call.send, found.gpu, send.on_device);
  if (status.ok() && blocks.recv != 0) {
    status = add_gpu(gpus, collective, "recv", call.recv, found.gpu, recv.on_device);
  }
  if (!status.ok()) return status;
  if (!found) return found;
  found.whole = send.on_device == (blocks.send != 0) && recv.on_device == (blocks.recv != 0);
  const std::size_t element_bytes = size_of_element(call);
  if (checked.blocks) {
    send.stretches = stretches_of(checked.blocks.table->input, collective.input, call, element_bytes, rank);
    recv.stretches = stretches_of(checked.blocks.table->output, collective.output, call, element_bytes, rank);
  } else {
    send.stretches = {{0, blocks.send * call.count * element_bytes}};
    recv.stretches = {{0, blocks.recv * call.count * element_bytes}};
  }
  lay_out(found, send, recv);
  return found;
}

Result<DeviceCall> find_device_data_to_self(Gpus& gpus, const CallArguments& both) {
  const std::size_t bytes = both.count * size_of_element(both);
  CallSide send{.data = both.send, .stretches = {{0, bytes}}}, recv{.data = both.recv, .stretches = {{0, bytes}}};
  DeviceCall found;
  const CollectiveInfo& collective = info_of(both.collective);
  for (const auto& [name, side] : {std::pair{"send", &send}, std::pair{"recv", &recv}}) {
    Status status = add_gpu(gpus, collective, name, side->data, found.gpu, side->on_device);
    if (!status.ok()) return status;
  }
  if (found) lay_out(found, send, recv);
  return found;
}

Result<DeviceCall> find_device_data(Gpus& gpus, const CallArguments& call, const Staging& staging) {
  DeviceCall found;
  const CollectiveInfo& collective = info_of(call.collective);
  for (const auto& [data, bytes, at] : staging.sources()) {
    bool on_device = false;
    Status status = add_gpu(gpus, collective, "send of a tensor", data, found.gpu, on_device);
    if (!status.ok()) return status;
    found.layout.take(data, bytes, at, on_device);
  }
  for (const auto& [data, bytes, at] : staging.targets()) {
    bool on_device = false;
    Status status = add_gpu(gpus, collective, "recv of a tensor", data, found.gpu, on_device);
    if (!status.ok()) return status;
    found.layout.give(data, bytes, at, on_device);
  }
  if (!found) return found;
  found.layout.bytes = staging.bytes();
  found.layout.clears_gaps = staging.clears_gaps();
  found.send_at = staging.input_at();
  found.recv_at = staging.output_at();
  return found;
}

}  // namespace hocket::comm
