// The client's side of one connection to the store's server, shared by threads.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/store/dial.hpp"
#include "src/store/wire.hpp"

namespace hocket::store {

// No thread of its own: one of the threads that wait for a response reads for all of them. Once lost, the connection
// stays lost, and every call returns why.
class Connection {
 public:
  Connection(Dialled dialled, std::string url)
      : url_(std::move(url)), socket_(std::move(dialled.socket)), input_(std::move(dialled.rest)) {}

  struct Reply {
    Code code = Code::ok;
    std::string payload;
  };
  // Sends the request (its id is set here) and waits for the response, which may carry the failure that the server
  // found. Code::timeout where the deadline passed before anything was sent, or before a
  // get or allgather was answered; Code::store_unreachable where the connection is lost, or another request is not
  // answered by the deadline. `look_around`, where there is one, is called while it waits for the answer.
  Result<Reply> exchange(wire::Request request, Deadline deadline, const LookAround& look_around = {});
  // Why it is lost, as far as that can be known without waiting.
  Status state();

 private:
  using Lock = std::unique_lock<std::mutex>;
  // A request whose answer its caller waits for; forgotten with the caller's frame, also where an exception ends that.
  class Pending {
   public:
    Pending(Connection& connection, Lock& lock, std::uint64_t id) : connection_(connection), lock_(lock), id_(id) {
      connection_.pending_.emplace(id_, this);
    }
    ~Pending() {
      if (!lock_.owns_lock()) lock_.lock();
      connection_.pending_.erase(id_);
    }
    Pending(const Pending&) = delete;
    Pending& operator=(const Pending&) = delete;

    bool done = false;
    Reply reply;

   private:
    Connection& connection_;
    Lock& lock_;
    const std::uint64_t id_;
  };

  // Sends all bytes, or loses the connection. Only where sending_ was claimed.
  void send(Lock& lock, std::string_view bytes, Deadline deadline);
  // Waits, unlocked, for `events`; reads what comes meanwhile, unless another thread reads already.
  void pump(Lock& lock, short events, Deadline deadline);
  Status receive();
  Status deliver();
  void lose(std::string_view why);

  const std::string url_;

  std::mutex mutex_;  // guards all below; never held while waiting
  Socket socket_;
  std::condition_variable changed_;
  Status lost_;
  std::uint64_t last_id_ = 0;
  std::unordered_map<std::uint64_t, Pending*> pending_;
  std::vector<std::uint64_t> given_up_;  // waits that the server may still hold; told with the next request
  bool sending_ = false;                 // some thread writes a frame
  bool reading_ = false;                 // some thread waits for what comes
  std::string input_;
};

}  // namespace hocket::store
