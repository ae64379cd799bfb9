// The server's side of one connection. Included by the server's own sources only (Asio).
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/store/asio.hpp"
#include "src/store/service.hpp"
#include "src/store/session_socket.hpp"
#include "src/store/welcome.hpp"

namespace hocket::store {

class Session;

// What a session tells its server. Every session ends with left() once.
class SessionListener {
 public:
  virtual ~SessionListener() = default;
  virtual void welcomed(Session& session) = 0;
  virtual void requested(Session& session, const wire::Request& request) = 0;
  // It broke the protocol, or is turned away, and is about to leave.
  virtual void refused(Session& session, std::string_view why) = 0;
  virtual void left(Session& session) = 0;
  // The session's large requests that have not come whole take `now` bytes, `before` until now. False: too many.
  virtual bool holds(std::size_t before, std::size_t now) = 0;
  // This process has no descriptor left for a client. Returns what that is told.
  virtual std::string starve() = 0;
};

// All functions are called on the server's thread. Lives while it is open: its pending reads and writes own it.
class Session : public std::enable_shared_from_this<Session> {
 public:
  // `trust` outlives it. `refusal`: how every greeting is answered; nothing: as its sender is trusted.
  Session(SessionListener& listener, ClientId id, asio::ip::tcp::socket socket, const Trust& trust,
          std::optional<Welcome::Answer> refusal = std::nullopt);

  ClientId id() const { return id_; }
  bool is_welcome() const { return welcome_; }
  // The client's address without its port.
  const std::string& peer() const { return peer_; }
  // When it came, or last asked for something.
  std::chrono::steady_clock::time_point active_at() const { return active_at_; }

  void start(std::chrono::milliseconds greeting_timeout);
  void respond(std::uint64_t request, Code code, Dictionary::Value payload);
  void close();

 private:
  struct Outgoing {
    std::string head;
    Dictionary::Value payload;  // may be null
    std::size_t bytes() const { return head.size() + (payload ? payload->size() : 0); }
  };

  // Calls `step`; whatever a library throws in it (memory that ran out) ends this session only.
  template <class Step>
  void guarded(Step step);
  void read();
  void on_readable();
  void proceed();
  std::size_t take_greeting();
  void answer(const Welcome::Answer& answer);
  std::size_t take_frames();
  void send(Outgoing outgoing);
  void write();
  void refuse(std::string_view why);
  bool account_for_input();

  SessionListener& listener_;
  const ClientId id_;
  SessionSocket socket_;
  asio::steady_timer timer_;
  Welcome greeter_;
  const std::optional<Welcome::Answer> refusal_;
  std::string peer_;
  bool welcome_ = false, open_ = true, last_words_ = false;
  bool reads_ = false, writes_ = false;  // an operation of Asio's is pending
  std::string input_;
  std::size_t accounted_ = 0;  // of the input, with the listener
  std::chrono::steady_clock::time_point active_at_ = std::chrono::steady_clock::now();
  std::deque<Outgoing> queue_;     // not handed to Asio yet
  std::vector<Outgoing> writing_;  // handed to Asio
  std::size_t unsent_bytes_ = 0;   // in both
};

}  // namespace hocket::store
