#include "transports/tcp/tcp_link.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "src/base/mismatch.hpp"

namespace hocket::tcp {
namespace {

constexpr std::size_t message_bytes_max = UINT32_MAX;

Status too_long(std::size_t bytes) {
  return Status(Code::internal, fmt::format("a message of {} bytes is too long for the wire", bytes));
}

}  // namespace

std::string TcpLink::name() const {
  return address_.empty() ? fmt::format("rank {}", peer_) : fmt::format("rank {} ({})", peer_, address_);
}

void TcpLink::attach(UniqueFd fd, std::string address) {
  fd_ = std::move(fd);
  address_ = std::move(address);
  flush();
}

void TcpLink::send(const Tag& tag, ConstBuffer from, Completion& completion) {
  if (ended_with_) {
    completion.done(*ended_with_);
    return;
  }
  if (from.bytes > message_bytes_max) {
    completion.done(too_long(from.bytes));
    return;
  }
  const bool first = outbox_.empty();
  outbox_.push(encode(Header{FrameKind::message, tag, static_cast<std::uint32_t>(from.bytes)}), from, completion);
  if (first && attached()) flush();
}

void TcpLink::recv(const Tag& tag, Buffer to, Completion& completion) {
  post(tag, {.to = to, .completion = &completion});
}

void TcpLink::recv_reduce(const Tag& tag, ConstBuffer mine, Buffer to, const Reduction& reduction,
                          Completion& completion) {
  post(tag, {.to = to, .mine = mine.data, .reduction = reduction, .completion = &completion});
}

void TcpLink::post(const Tag& tag, PostedReceive receive) {
  if (ended_with_) {
    receive.completion->done(*ended_with_);
    return;
  }
  if (receive.to.bytes > message_bytes_max) {
    receive.completion->done(too_long(receive.to.bytes));
    return;
  }
  receive.expected = encode(Header{FrameKind::message, tag, static_cast<std::uint32_t>(receive.to.bytes)});
  inbox_.post(receive);
}

void TcpLink::tell_waiting(const Tag& tag) {
  if (ended_with_ || !attached()) return;
  outbox_.push(encode(Header{FrameKind::waiting, tag, 0}), ConstBuffer(), nobody_);
  flush();
}

void TcpLink::close(const Status& why) {
  if (ended_with_) return;
  if (why.ok()) {
    ended_with_ = Status(Code::aborted, fmt::format("the link to {} is closed", name()));
    outbox_.finish_with(encode(Header{.kind = FrameKind::goodbye}));
    for (Completion* completion : inbox_.abandon()) completion->done(*ended_with_);
    flush();
  } else {
    end_with(why, encode_cause(why.cause()));
  }
}

// Ends all that is pending. `last`: what to say yet; empty where the peer does not listen any more.
void TcpLink::end_with(const Status& why, std::span<const std::byte> last) {
  ended_with_ = why;
  auto completions = outbox_.abandon();
  for (Completion* completion : inbox_.abandon()) completions.push_back(completion);
  if (last.empty()) {
    outbox_ = Outbox();  // without the rest of a message that is half sent
  } else {
    outbox_.finish_with(last);
  }
  flush();
  for (Completion* completion : completions) completion->done(why);
}

void TcpLink::fail(const Status& why, bool tell_peer) {
  if (ended_with_) {
    for (Completion* completion : outbox_.abandon()) completion->done(why);
    return;
  }
  end_with(why, tell_peer ? encode_cause(why.cause()) : std::vector<std::byte>{});
  context_.listener->peer_failed(peer_, why);
}

std::size_t TcpLink::advance() {
  std::size_t happened = 0;
  if (!outbox_.empty()) happened += flush();
  if (send_error_ != 0) hear_out(std::exchange(send_error_, 0));
  if (up() && inbox_.wanted()) happened += receive();
  return happened;
}

std::size_t TcpLink::look(short events) {
  if (!attached() || ended()) return 0;
  if (ended_with_) {
    drain();
    return flush();
  }
  std::size_t happened = advance();
  if (!up()) return happened + 1;
  const bool hung_up = (events & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
  if (inbox_.early()) {
    if (hung_up && act_on(inbox_.foresee(fd()))) ++happened;
  } else if (!inbox_.wanted()) {
    happened += receive();
  }
  return happened;
}

std::size_t TcpLink::flush() {
  if (!attached() || shut_) return 0;
  const auto progress = outbox_.flush(fd());
  if (progress.error != 0) {
    if (ended_with_) {  // nobody listens: nothing is left to say
      const auto completions = outbox_.abandon();
      outbox_ = Outbox();
      shut_ = true;
      for (Completion* completion : completions) completion->done(lost(progress.error));
    } else {
      send_error_ = progress.error;
    }
  }
  if (ended_with_ && outbox_.empty() && !shut_) {
    shut_ = true;
    ::shutdown(fd(), SHUT_WR);
  }
  return progress.completed;
}

std::size_t TcpLink::receive() {
  const auto progress = inbox_.advance(fd(), context_.staging);
  if (const auto tag = inbox_.take_waiting()) context_.listener->peer_waits(peer_, *tag);
  const std::size_t ended = act_on(progress.event) ? 1 : 0;
  return progress.completed + (progress.bytes > 0 ? 1 : 0) + ended;
}

// Sending failed. What the peer said before it went comes first: it may hold the cause.
void TcpLink::hear_out(int error) {
  while (up()) {
    const auto progress = inbox_.advance(fd(), context_.staging);
    const auto event = progress.event == Inbox::Event::none && inbox_.early() ? inbox_.foresee(fd()) : progress.event;
    if (event != Inbox::Event::end && event != Inbox::Event::error && act_on(event)) return;
    if (event != Inbox::Event::none || progress.bytes == 0) break;
  }
  fail(lost(inbox_.error() != 0 ? inbox_.error() : error), false);
}

// Whether the event ended the link.
bool TcpLink::act_on(Inbox::Event event) {
  switch (event) {
    case Inbox::Event::none: return false;
    case Inbox::Event::cause: {
      Cause cause = inbox_.cause();
      if (cause.rank == no_rank) cause.rank = peer_;
      fail(Status(std::move(cause)), false);
      return true;
    }
    case Inbox::Event::goodbye:
      end_with(Status(Cause{.code = Code::peer_lost,
                            .message = fmt::format("{} has left the group", name()),
                            .rank = context_.rank,
                            .peer = peer_}),
               {});
      context_.listener->peer_left(peer_);
      return true;
    case Inbox::Event::mismatch: fail(mismatch(), true); return true;
    case Inbox::Event::nonsense:
      fail(Status(Cause{
               .code = Code::protocol_error,
               .message = fmt::format("{} does not keep to Hocket's protocol: {}", name(), inbox_.problem().message()),
               .rank = context_.rank,
               .peer = peer_}),
           true);
      return true;
    case Inbox::Event::end:
    case Inbox::Event::error: fail(lost(inbox_.error()), false); return true;
  }
  return false;
}

Status TcpLink::mismatch() const {
  const auto got = parse_header(inbox_.got());
  const auto expected = parse_header(inbox_.expected());
  if (!got || !expected) return Status(Code::mismatch, "a call cannot be expressed on the wire");
  return hocket::mismatch(context_.rank, peer_, {got->tag, got->bytes}, {expected->tag, expected->bytes});
}

Status TcpLink::lost(int error) const {
  const std::string how =
      error == 0 ? "its connection ended without goodbye" : fmt::format("connection lost: {}", std::strerror(error));
  return Status(Cause{.code = Code::peer_lost,
                      .message = fmt::format("{} is gone ({}): look at what that process printed last", name(), how),
                      .rank = context_.rank,
                      .peer = peer_});
}

short TcpLink::interest() const {
  short events = end_interest();
  if (!ended() && (ended_with_ || !inbox_.early())) events |= POLLIN;
  if (attached() && !outbox_.empty()) events |= POLLOUT;
  return events;
}

// Reads and discards, so that the kernel does not answer unread bytes with a reset that would kill our last words.
void TcpLink::drain() {
  for (int i = 0; i < 64; ++i) {
    const ssize_t taken = ::recv(fd(), context_.staging.data(), context_.staging.size(), MSG_DONTWAIT);
    if (taken > 0 || (taken < 0 && errno == EINTR)) continue;
    if (taken == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) drained_ = true;
    return;
  }
}

}  // namespace hocket::tcp
