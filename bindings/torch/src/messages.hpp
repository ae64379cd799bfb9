// Messages with tags, over Hocket's messages, which have none.
//
// Each message is two of Hocket's: a header that says tag and length, then the data. A header is read only while a
// receive waits for one from that rank. If no waiting receive has its tag, the data is put aside; so messages of
// different tags may be received in any order. Everything here happens on the threads that wait, and in the functions
// that Hocket calls on completion.
#pragma once

#include <array>
#include <condition_variable>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "bindings/torch/src/request.hpp"
#include "bindings/torch/src/tensors.hpp"

namespace hocket_torch {

constexpr int from_anybody = -1;

class Messages : public std::enable_shared_from_this<Messages> {
 public:
  // `comm` carries messages alone, so that none of them waits for a collective.
  Messages(CommHandle comm, int rank, int size);
  // Ends what is pending.
  void close();

  void abort(const char* reason);

  // `stream`: the side stream's handle, of tensors in device memory.
  std::shared_ptr<Request> send(const at::Tensor& packed, int to, int tag, void* stream);
  std::shared_ptr<Request> receive(const at::Tensor& packed, int from, int tag, void* stream);

 private:
  class Send;
  class Receive;
  using Header = std::array<std::uint64_t, 2>;  // tag, bytes
  struct Message {
    Header header{};
    std::vector<std::byte> data;
  };
  // What is being read from one rank: first a header, then its data.
  struct Peer {
    WorkHandle work;                  // the read that is going on; null: none
    bool reads_data = false;          // it reads the data of `arriving`, not its header
    bool header_held = false;         // a header was read, and its data not yet
    Message arriving;                 // its data: empty if it goes to a receive
    std::shared_ptr<Receive> filled;  // that receive
    std::deque<Message> aside;        // messages that nobody waited for, oldest first
  };

  // All of these require mutex_.
  bool take_from_aside(Receive& receive);
  std::shared_ptr<Receive> take_waiting(int from, const Header& header);
  bool waited_for(int from) const;
  void advance(int from);
  void put_down(int from);
  void read(int from, void* to, std::size_t count, hocket_dtype type, const hocket_call_options* options);
  void fail_all(const Outcome& outcome);
  // Calls, without mutex_, what the steps above have left to be called.
  void follow_up();
  void read_ended(int from, const WorkHandle& work);

  const int rank_;
  std::mutex mutex_;
  std::condition_variable changed_;
  CommHandle comm_;  // guarded by mutex_, like all below
  std::vector<Peer> peers_;
  std::list<std::shared_ptr<Receive>> waiting_;
  std::vector<std::function<void()>> left_to_call_;
};

}  // namespace hocket_torch
