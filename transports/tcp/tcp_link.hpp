// The TCP connections to one peer, from before they are connected until after they have ended. Usually that is one;
// several streams share large messages (see wire.hpp). The end of any stream is the end of the link.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/spi/transport.hpp"
#include "transports/tcp/peer_name.hpp"
#include "transports/tcp/reading_pace.hpp"
#include "transports/tcp/stream.hpp"
#include "transports/tcp/stripes.hpp"

namespace hocket::tcp {

// What all links of a transport share.
struct LinkContext {
  Rank rank = 0;
  TransportListener* listener = nullptr;
  std::vector<std::byte> staging;  // scratch memory for one call of progress
  ReadingPace pace{};
};

class TcpLink final : public Link {
 public:
  TcpLink(LinkContext& context, Rank peer, std::uint16_t streams);

  void send(const Tag& tag, ConstBuffer from, Completion& completion) override;
  void recv(const Tag& tag, Buffer to, Completion& completion) override;
  void recv_reduce(const Tag& tag, ConstBuffer mine, Buffer to, const Reduction& reduction,
                   Completion& completion) override;
  std::optional<Tag> probe() override;
  void tell_waiting(const Waiting& what) override;
  void listen_behind_messages(bool on) override;
  void close(const Status& why) override;
  bool may_speak() const override;

  Rank peer() const { return name_.peer; }
  std::uint16_t streams() const { return static_cast<std::uint16_t>(streams_.size()); }
  int fd(std::size_t stream) const { return streams_[stream].socket.fd(); }

  // A stream's connection stands; `address` is where the peer is, for messages.
  void attach(std::size_t stream, Socket socket, std::string address);
  bool attached(std::size_t stream) const { return streams_[stream].attached(); }
  bool attached() const { return streams_.front().attached(); }  // the first stream comes first
  bool complete() const { return missing_ == 0; }
  // Connected and neither failed nor closed, on either side.
  bool up() const { return complete() && !ended_with_; }
  // Whether streams that are missing yet have nothing to carry any more.
  bool failed() const { return failed_; }

  // Ends everything with `why` and tells the listener, unless this side had closed the link before; then only ends what
  // still waited to go out. `tell_peer`: sends the cause.
  void fail(const Status& why, bool tell_peer);
  // The peer has left in good order, as far as this rank can tell.
  void leave(const Status& why);

  // Moves what can be moved for messages that wait; returns the number of things that happened.
  std::size_t advance();
  // For a stream of which poll(2) says something: as advance(), and takes note of an end, a cause or a goodbye.
  std::size_t look(std::size_t index, short events);

  bool busy() const;
  // Whether there is something to do that no poll(2) would tell.
  bool ready() const;
  // Whether bytes, or messages that wait for a connection, still have to go out.
  bool flushing() const;
  // Whether the peer has said all that it will say.
  bool ended() const;
  // Whether bytes that went out may still be lost, so that the kernel must be given time to send them again: what the
  // peer sends to a socket that is closed already would end that.
  bool unacknowledged() const;

  // What poll(2) must watch of a stream: for everything, or for the end of the connection only. 0: nothing.
  short interest(std::size_t index) const { return streams_[index].interest(ended_with_.has_value()); }
  short end_interest(std::size_t index) const { return streams_[index].end_interest(ended_with_.has_value()); }

 private:
  bool working(const Stream& stream) const { return stream.attached() && !ended_with_; }
  std::size_t advance(Stream& stream);
  std::size_t flush(Stream& stream);
  std::size_t receive(Stream& stream);
  void post(const Tag& tag, PostedReceive receive);
  void post_shares(PostedReceive receive);
  void take_waiting(Stream& stream);
  bool hear_behind(Stream& stream);
  bool hear_out(Stream& stream);
  bool hear_last_word(Stream& stream);
  void lose(Stream& stream, int error);
  bool act_on(Stream& stream, Inbox::Event event);
  void end_with(const Status& why, std::span<const std::byte> last);

  LinkContext& context_;
  PeerName name_;
  std::vector<Stream> streams_;
  std::size_t missing_;  // streams that are not attached
  Stripes stripes_;
  std::optional<Status> ended_with_;  // what later sends and receives end with; nothing: the link works
  bool failed_ = false;
  bool awaits_word_ = false;  // this side has said why it ended the link; the peer has said nothing of its own yet
  Completion nobody_{[](Completion&, const Status&) {}};  // of frames that nobody waits for
};

}  // namespace hocket::tcp
