// What connects two ranks of one host: a Unix socket, and a ring in shared memory for each direction that is used.
#pragma once

#include <poll.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/base/fd.hpp"
#include "src/spi/plain_messages.hpp"
#include "src/spi/transport.hpp"
#include "transports/shm/handshake.hpp"
#include "transports/shm/inbox.hpp"
#include "transports/shm/outbox.hpp"

namespace hocket::shm {

// What links need of the windows that are open.
class LinkWindows : public Payloads {
 public:
  // Takes a packet that belongs to a window. False: it makes no sense.
  virtual bool deliver(Rank from, Packet& packet) = 0;
  // Where a peer finds these bytes, if they lie in memory that is registered; tells the peer what it needs for that.
  virtual std::optional<PayloadPlace> place_of(Rank peer, const std::byte* data, std::size_t bytes) = 0;
};

// What all links of a transport share.
struct LinkContext {
  Rank rank = 0;
  pid_t owner = 0;  // a forked child is not it, and must not speak for its parent
  TransportListener* listener = nullptr;
  LinkWindows* windows = nullptr;
  PlainMemoryOwner plain_memory = {};  // of this process
  bool may_read_plain_memory = false;  // of peers
  PlainMessages plain_messages = {};
  std::size_t bytes_past_caches_min = SIZE_MAX;
  mutable LongReceives long_receives = 0;  // which the links count
};

class ShmLink final : public Link {
 public:
  ShmLink(const LinkContext& context, Rank peer)
      : context_(context),
        peer_(peer),
        inbox_(peer, context.windows, context.long_receives, context.may_read_plain_memory) {}

  void send(const Tag& tag, ConstBuffer from, Completion& completion) override;
  void recv(const Tag& tag, Buffer to, Completion& completion) override;
  void recv_reduce(const Tag& tag, ConstBuffer mine, Buffer to, const Reduction& reduction,
                   Completion& completion) override;
  bool send_now(const Tag& tag, std::span<const std::byte> from) noexcept override;
  bool recv_now(const Tag& tag, std::span<std::byte> to) noexcept override;
  std::size_t now_max() const override { return Outbox::at_once_max; }
  void wake_receiver() override {
    if (outbox_.open()) outbox_.wake_reader(connection_.wake_event.get());
  }
  std::optional<Tag> probe() override;
  void tell_waiting(const Waiting& what) override;
  void close(const Status& why) override;
  bool may_speak() const override;

  Rank peer() const { return peer_; }
  // "rank 2 (process 4711)", as far as known.
  std::string name() const;
  // The eventfd that ends the peer's poll(2).
  int wake_event() const { return connection_.wake_event.get(); }
  Channel& channel() { return connection_.channel; }

  // The connection stands.
  void attach(Connection connection);
  bool attached() const { return static_cast<bool>(connection_.channel); }
  // Connected and neither failed nor closed, on either side.
  bool up() const { return attached() && !ended_with_; }
  // What later sends and receives end with; ok while the link works.
  Status ended_with() const { return ended_with_.value_or(Status()); }

  // Ends everything with `why` and tells the listener, unless this side had closed the link before.
  void fail(const Status& why, bool tell_peer);
  // The peer has left in good order, as far as this rank can tell.
  void leave(const Status& why);

  // Moves what can be moved through the rings; returns the number of things that happened.
  std::size_t advance();
  // Takes all packets that have come; `died`: the peer's process has ended, whoever holds its socket.
  std::size_t listen(bool died = false);

  bool busy() const { return attached() && (!outbox_.empty() || (up() && inbox_.wanted())); }
  // Tells the peer that this thread waits on that core, counted from 1. Whether it awaits a short message of the
  // peer's, which waited last on another one.
  bool awaits_another_core(std::uint32_t core) {
    outbox_.tell_core(core);
    return inbox_.awaits_another_core(core);
  }
  // Whether messages are wanted whose memory the peer has still to hand over.
  bool awaits_ring(bool listening) const { return up() && (listening || inbox_.wanted()) && !inbox_.open(); }
  // Whether advance() has something to do or, for one who listens, probe() would find what it has not told yet.
  bool ready(bool listening);
  // Whether something still has to go out.
  bool flushing() const { return !outbox_.empty() || connection_.channel.flushing(); }
  void announce_sleep(bool asleep, bool listening);
  // Appends what poll(2) must watch for `events` on the socket (POLLIN: packets, POLLRDHUP: their end), and for the end
  // of the peer's process: in this order, what there is of both. poll(2) takes no more entries than this process may
  // have descriptors, so there are none for those that are not open.
  void interests(std::vector<pollfd>& interests, short events) const;

 private:
  void post(const Tag& tag, PostedReceive receive);
  std::size_t flush();
  std::size_t receive();
  std::size_t take_packets(bool died);
  bool open_outbox();
  std::optional<PayloadPlace> place_of(const Tag& tag, ConstBuffer payload);
  void act_on(Packet& packet);
  void hear_last_word(const Packet& packet);
  void leave_if_drained();
  void malformed(std::string_view what);
  Status problem(Code code, std::string message) const;
  Status lost() const;
  void abandon(const Status& why);
  void say_why(const Status& why);
  void finish_goodbye();
  // It stays as it is as long as this link lives. Needs no memory, so that nothing keeps the peer from hearing it.
  void last_word(const Packet& packet);

  const LinkContext& context_;
  Rank peer_;
  Connection connection_;
  UniqueFd process_;  // of the peer, where it can be watched; a child of it may keep the socket open after its end
  Packet cause_packet_ = packet_of(Cause());  // with room for any cause
  Outbox outbox_;
  Inbox inbox_;
  std::optional<Status> ended_with_;  // nothing: the link works
  bool owes_goodbye_ = false;         // closed in good order, with messages still to go out
  bool owes_cause_ = false;           // failed before it was connected
  bool goodbye_came_ = false;
  bool awaits_word_ = false;  // this side has said why it ended the link; the peer has said nothing of its own yet
  bool peer_ended_ = false;   // the socket has no more to say
  bool listens_ = false;      // to the socket, at this moment
};

}  // namespace hocket::shm
