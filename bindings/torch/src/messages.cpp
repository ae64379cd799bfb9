#include "bindings/torch/src/messages.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "bindings/torch/src/failure.hpp"

namespace hocket_torch {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t for_ever_ms = std::int64_t{1000} * 3600 * 24 * 300;  // a header may come at any time
constexpr std::chrono::milliseconds brief{1};

}  // namespace

class Messages::Send final : public CallRequest {
 public:
  Send(const CommHandle& comm, hocket_work* work, std::unique_ptr<Header> header)
      : CallRequest(comm, work), header_(std::move(header)) {}

 private:
  const std::unique_ptr<Header> header_;  // read until the send is complete
};

class Messages::Receive final : public Request {
 public:
  Receive(std::shared_ptr<Messages> messages, const at::Tensor& packed, int source, int wanted, void* side_stream)
      : from(source),
        tag(static_cast<std::uint32_t>(wanted)),
        data(packed.data_ptr()),
        bytes(packed.nbytes()),
        stream(side_stream),
        messages_(std::move(messages)),
        tensor_(packed) {}

  Outcome wait(std::int64_t milliseconds) override;
  void when_complete(std::function<void()> function) override;
  void deliver() override;
  void abort(const char* reason) override { messages_->abort(reason); }
  int source() const override { return found_in; }

  bool matches(int peer, const Header& header) const {
    return (from == from_anybody || from == peer) && header[0] == tag;
  }
  // Require the mutex of the messages.
  bool fits(const Header& header) const { return header[1] == bytes; }
  void take(int peer, const Message& message) {
    found_in = peer;
    if (!fits(message.header)) {
      return end({HOCKET_MISMATCH, "rank " + std::to_string(peer) + " sent " + std::to_string(message.header[1]) +
                                       " bytes with tag " + std::to_string(tag) + ", but this rank receives " +
                                       std::to_string(bytes)});
    }
    if (tensor_.device().is_cpu()) {
      if (bytes > 0) std::memcpy(data, message.data.data(), bytes);
    } else {
      undelivered_ = message.data;
    }
    end({HOCKET_OK});
  }
  void end(const Outcome& with) {
    outcome = with;
    if (then_) messages_->left_to_call_.push_back(std::exchange(then_, nullptr));
    messages_->changed_.notify_all();
  }

  const int from;
  const std::uint64_t tag;
  void* const data;
  const std::size_t bytes;
  void* const stream;
  int found_in = -1;
  Outcome outcome;

 private:
  const std::shared_ptr<Messages> messages_;
  const at::Tensor tensor_;
  std::vector<std::byte> undelivered_;  // data for a device that was put aside in host memory
  std::function<void()> then_;
};

Messages::Messages(CommHandle comm, int rank, int size)
    : rank_(rank), comm_(std::move(comm)), peers_(static_cast<std::size_t>(size)) {}

void Messages::close() {
  CommHandle comm;  // destroyed after the lock: that ends all reads
  const std::lock_guard lock(mutex_);
  comm.swap(comm_);
}

void Messages::abort(const char* reason) {
  const std::lock_guard lock(mutex_);
  if (comm_) (void)hocket_comm_abort(comm_.get(), reason);
}

std::shared_ptr<Request> Messages::send(const at::Tensor& packed, int to, int tag, void* stream) {
  auto header = std::make_unique<Header>(Header{static_cast<std::uint32_t>(tag), packed.nbytes()});
  const std::lock_guard lock(mutex_);  // keeps header and data together
  hocket_call_options ordered = HOCKET_CALL_OPTIONS_INIT;
  ordered.stream = stream;
  hocket_work* work = nullptr;
  (void)hocket_group_start();
  (void)hocket_send(header->data(), header->size(), HOCKET_UINT64, to, comm_.get(), nullptr, nullptr);
  if (packed.nbytes() > 0) {
    (void)hocket_send(packed.data_ptr(), packed.nbytes(), HOCKET_UINT8, to, comm_.get(), &ordered, nullptr);
  }
  check(hocket_group_end(&work));
  return std::make_shared<Send>(comm_, work, std::move(header));
}

std::shared_ptr<Request> Messages::receive(const at::Tensor& packed, int from, int tag, void* stream) {
  if (from == rank_ || from < from_anybody || from >= static_cast<int>(peers_.size())) {
    refuse("recv", "invalid source rank: " + std::to_string(from));
  }
  const auto receive = std::make_shared<Receive>(shared_from_this(), packed, from, tag, stream);
  {
    const std::lock_guard lock(mutex_);
    check(hocket_comm_status(comm_.get()));
    if (!take_from_aside(*receive)) {
      waiting_.push_back(receive);
      for (int peer = 0; peer < static_cast<int>(peers_.size()); ++peer) {
        if (peer != rank_ && (from == from_anybody || from == peer)) advance(peer);
      }
    }
  }
  follow_up();
  return receive;
}

bool Messages::take_from_aside(Receive& receive) {
  for (int from = 0; from < static_cast<int>(peers_.size()); ++from) {
    auto& aside = peers_[from].aside;
    const auto fits = [&](const Message& message) { return receive.matches(from, message.header); };
    const auto found = std::find_if(aside.begin(), aside.end(), fits);
    if (found == aside.end()) continue;
    receive.take(from, *found);
    aside.erase(found);
    return true;
  }
  return false;
}

// The receive that has waited longest for such a message; null: there is none.
std::shared_ptr<Messages::Receive> Messages::take_waiting(int from, const Header& header) {
  const auto fits = [&](const auto& receive) { return receive->matches(from, header); };
  const auto found = std::find_if(waiting_.begin(), waiting_.end(), fits);
  if (found == waiting_.end()) return nullptr;
  const auto taken = *found;
  waiting_.erase(found);
  return taken;
}

bool Messages::waited_for(int from) const {
  const auto waits = [&](const auto& receive) { return receive->from == from_anybody || receive->from == from; };
  return std::any_of(waiting_.begin(), waiting_.end(), waits);
}

// Starts the next read from that rank, unless one is going on or nobody waits.
void Messages::advance(int from) {
  Peer& peer = peers_[from];
  while (!peer.work && waited_for(from)) {
    Header& header = peer.arriving.header;
    peer.reads_data = peer.header_held;
    if (!peer.header_held) {
      hocket_call_options patient = HOCKET_CALL_OPTIONS_INIT;
      patient.timeout_ms = for_ever_ms;
      return read(from, header.data(), header.size(), HOCKET_UINT64, &patient);
    }
    peer.header_held = false;
    const std::size_t bytes = header[1];
    auto receive = take_waiting(from, header);
    if (receive && receive->fits(header) && bytes > 0) {
      peer.filled = std::move(receive);
      peer.filled->found_in = from;
      hocket_call_options ordered = HOCKET_CALL_OPTIONS_INIT;
      ordered.stream = peer.filled->stream;
      return read(from, peer.filled->data, bytes, HOCKET_UINT8, &ordered);
    }
    if (receive) waiting_.push_front(std::move(receive));  // takes it when it is here
    peer.arriving.data.resize(bytes);
    if (bytes > 0) return read(from, peer.arriving.data.data(), bytes, HOCKET_UINT8, nullptr);
    put_down(from);
  }
}

// A message has arrived, for nobody or for a receive that could not be written to at once.
void Messages::put_down(int from) {
  Message message = std::exchange(peers_[from].arriving, {});
  if (const auto receive = take_waiting(from, message.header)) {
    receive->take(from, message);
  } else {
    peers_[from].aside.push_back(std::move(message));
  }
}

void Messages::read(int from, void* to, std::size_t count, hocket_dtype type, const hocket_call_options* options) {
  hocket_work* started = nullptr;
  const hocket_result result =
      comm_ ? hocket_recv(to, count, type, from, comm_.get(), options, &started) : HOCKET_ABORTED;
  if (result != HOCKET_OK) {
    const Outcome outcome{result, comm_ ? hocket_last_error() : "the process group was destroyed"};
    if (auto filled = std::exchange(peers_[from].filled, nullptr)) filled->end(outcome);
    return fail_all(outcome);
  }
  peers_[from].work = own(started);
  left_to_call_.push_back([self = shared_from_this(), from, work = peers_[from].work] {
    when_complete(work, [self, from, work](hocket_result) { self->read_ended(from, work); });
  });
}

// On a thread that must not wait.
void Messages::read_ended(int from, const WorkHandle& work) {
  {
    const std::lock_guard lock(mutex_);
    const hocket_result result = hocket_work_test(work.get());
    const Outcome outcome{result, result == HOCKET_OK ? "" : hocket_last_error()};
    Peer& peer = peers_[from];
    peer.work = nullptr;
    auto filled = std::exchange(peer.filled, nullptr);
    if (filled) filled->end(outcome);
    if (result != HOCKET_OK) {
      fail_all(outcome);
    } else {
      peer.header_held = !peer.reads_data;
      if (peer.reads_data && !filled) put_down(from);
      advance(from);
    }
    changed_.notify_all();
  }
  follow_up();
}

void Messages::fail_all(const Outcome& outcome) {
  for (const auto& receive : std::exchange(waiting_, {})) receive->end(outcome);
}

void Messages::follow_up() {
  std::unique_lock lock(mutex_);
  while (!left_to_call_.empty()) {
    const auto calls = std::exchange(left_to_call_, {});
    lock.unlock();
    for (const auto& call : calls) call();
    lock.lock();
  }
}

// Makes the read progress that this receive waits for; where it may come from anybody, waits for the thread that does.
Outcome Messages::Receive::wait(std::int64_t milliseconds) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(std::min(milliseconds, for_ever_ms));
  CommHandle stays;  // while this thread is inside; let go after the lock
  std::unique_lock lock(messages_->mutex_);
  while (outcome.result == HOCKET_IN_PROGRESS && milliseconds > 0) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) break;
    if (!stays) stays = messages_->comm_;
    const int peer = from == from_anybody ? found_in : from;
    const WorkHandle work = peer < 0 ? nullptr : messages_->peers_[peer].work;
    if (!work) {
      messages_->changed_.wait_until(lock, deadline);
      continue;
    }
    lock.unlock();
    (void)hocket_work_wait(work.get(), left);
    lock.lock();
    // Complete, but its function is still being called on another thread.
    if (outcome.result == HOCKET_IN_PROGRESS && messages_->peers_[peer].work == work) {
      messages_->changed_.wait_for(lock, brief);
    }
  }
  Outcome result = outcome;
  lock.unlock();
  return result;
}

// The thread waits for the copy, as far as torch makes it wait for one from such memory.
void Messages::Receive::deliver() {
  if (undelivered_.empty()) return;
  tensor_.copy_(at::from_blob(undelivered_.data(), tensor_.sizes(), tensor_.options().device(at::kCPU)));
}

void Messages::Receive::when_complete(std::function<void()> function) {
  {
    const std::lock_guard lock(messages_->mutex_);
    if (outcome.result == HOCKET_IN_PROGRESS) {
      then_ = std::move(function);
      return;
    }
  }
  function();
}

}  // namespace hocket_torch
