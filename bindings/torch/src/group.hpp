// Group: what the calls of one process group share.
#pragma once

#include <atomic>
#include <string>

#include "bindings/torch/src/coalescing.hpp"
#include "bindings/torch/src/messages.hpp"
#include "bindings/torch/src/side_stream.hpp"

namespace hocket_torch {

// What a group is made from.
struct GroupOptions {
  c10::intrusive_ptr<c10d::Store> store;  // of this group alone
  int rank = 0;
  int size = 1;
  std::chrono::milliseconds timeout{};
  std::string name;  // in messages
};

class Group {
 public:
  // Blocks until all ranks have come. Without the GIL.
  explicit Group(const GroupOptions& options);
  // Pending calls end with an error.
  ~Group();

  int rank() const { return rank_; }
  int size() const { return size_; }
  const std::string& name() const { return name_; }
  // Of calls that name none.
  std::chrono::milliseconds timeout() const { return std::chrono::milliseconds(timeout_ms_.load()); }
  void set_timeout(std::chrono::milliseconds timeout) { timeout_ms_ = timeout.count(); }
  c10d::Store& store() const { return *store_; }
  const CommHandle& comm() const { return comm_; }
  Messages& messages() const { return *messages_; }  // not of a group of one
  Coalescing& coalescing() { return coalescing_; }
  SideStreams& side_streams() { return side_streams_; }

  // The number of collectives so far, which is equal on all ranks if they made the same calls.
  void set_sequence(std::uint64_t number) { sequence_ = number; }
  std::uint64_t sequence() const { return sequence_; }
  void count_collective() { ++sequence_; }
  std::uint64_t next_monitored_barrier() { return monitored_barriers_++; }

  // Ends everything that is pending or called later, on all ranks.
  void abort(const std::string& reason);

 private:
  const int rank_, size_;
  const c10::intrusive_ptr<c10d::Store> store_;
  const std::string name_;
  std::atomic<std::chrono::milliseconds::rep> timeout_ms_;
  SideStreams side_streams_;  // outlives the communicator, which may use what they keep
  const CommHandle comm_;
  const std::shared_ptr<Messages> messages_;
  Coalescing coalescing_;
  std::atomic<std::uint64_t> sequence_{0}, monitored_barriers_{0};
};

}  // namespace hocket_torch
