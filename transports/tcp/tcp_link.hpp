// A TCP connection to one peer, from before it is connected until after it has ended.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hocket/spi/transport.hpp"
#include "src/base/fd.hpp"
#include "transports/tcp/inbox.hpp"
#include "transports/tcp/outbox.hpp"

namespace hocket::tcp {

// What all links of a transport share.
struct LinkContext {
  Rank rank = 0;
  TransportListener* listener = nullptr;
  std::vector<std::byte> staging;  // scratch memory for one call of progress
};

class TcpLink final : public Link {
 public:
  TcpLink(LinkContext& context, Rank peer) : context_(context), peer_(peer) {}

  void send(const Tag& tag, ConstBuffer from, Completion& completion) override;
  void recv(const Tag& tag, Buffer to, Completion& completion) override;
  void recv_reduce(const Tag& tag, ConstBuffer mine, Buffer to, const Reduction& reduction,
                   Completion& completion) override;
  void tell_waiting(const Tag& tag) override;
  void close(const Status& why) override;

  Rank peer() const { return peer_; }
  int fd() const { return fd_.get(); }
  // "rank 2 (10.0.0.1:4000)", as far as known.
  std::string name() const;

  // The connection stands; `address` is where the peer is, for messages.
  void attach(UniqueFd fd, std::string address);
  bool attached() const { return static_cast<bool>(fd_); }
  // Connected and neither failed nor closed, on either side.
  bool up() const { return attached() && !ended_with_; }

  // Ends everything with `why` and tells the listener, unless this side had closed the link before; then only ends what
  // still waited to go out. `tell_peer`: sends the cause.
  void fail(const Status& why, bool tell_peer);

  // Moves what can be moved for messages that wait; returns the number of things that happened.
  std::size_t advance();
  // For a link that poll(2) says something about: as advance(), and takes note of an end, a cause or a goodbye.
  std::size_t look(short events);

  bool busy() const { return attached() && (!outbox_.empty() || (up() && inbox_.wanted())); }
  // Whether there is something to do that no poll(2) would tell.
  bool ready() const { return up() && (inbox_.ready() || send_error_ != 0); }
  // Whether bytes, or messages that wait for a connection, still have to go out.
  bool flushing() const { return !outbox_.empty(); }
  // Whether the peer has said all that it will say.
  bool ended() const { return !attached() || inbox_.ended() || drained_; }

  // What poll(2) must watch: for everything, or for the end of the connection only. 0: nothing.
  short interest() const;
  short end_interest() const { return ended() ? short{0} : short{POLLRDHUP}; }

 private:
  std::size_t flush();
  std::size_t receive();
  void hear_out(int error);
  void post(const Tag& tag, PostedReceive receive);
  bool act_on(Inbox::Event event);
  Status mismatch() const;
  Status lost(int error) const;
  void drain();
  void end_with(const Status& why, std::span<const std::byte> last);

  LinkContext& context_;
  Rank peer_;
  std::string address_;
  UniqueFd fd_;
  Outbox outbox_;
  Inbox inbox_;
  std::optional<Status> ended_with_;  // what later sends and receives end with; nothing: the link works
  int send_error_ = 0;                // seen while sending, not yet dealt with
  bool shut_ = false;                 // our direction is closed
  Completion nobody_{[](Completion&, const Status&) {}};  // of frames that nobody waits for
  bool drained_ = false;                                  // the peer's direction has ended after ours
};

}  // namespace hocket::tcp
