#include "transports/tcp/tcp_link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "transports/tcp/sockets.hpp"

namespace hocket::tcp {
namespace {

constexpr std::size_t frame_bytes_max = UINT32_MAX;

Status too_long(std::size_t bytes) {
  return Status(Code::internal, fmt::format("a message of {} bytes is too long for the wire", bytes));
}

}  // namespace

TcpLink::TcpLink(LinkContext& context, Rank peer, std::uint16_t streams)
    : context_(context), name_{context.rank, peer}, missing_(streams) {
  streams_.reserve(streams);
  for (std::uint16_t index = 0; index < streams; ++index) streams_.emplace_back(StreamNumber{index, streams});
}

void TcpLink::attach(std::size_t stream, Socket socket, std::string address) {
  streams_[stream].socket = std::move(socket);
  --missing_;
  if (name_.address.empty()) name_.address = std::move(address);
  flush(streams_[stream]);
}

void TcpLink::send(const Tag& tag, ConstBuffer from, Completion& completion) {
  if (ended_with_) {
    completion.done(*ended_with_);
    return;
  }
  if (from.bytes > frame_bytes_max) {
    completion.done(too_long(from.bytes));
    return;
  }
  context_.pace.sent();
  const Frame header = encode(Header{FrameKind::message, tag, static_cast<std::uint32_t>(from.bytes)});
  const bool striped = is_striped(from.bytes, streams());
  Completion& done = striped ? stripes_.join(streams_.size(), completion) : completion;
  for (Stream& stream : std::span(streams_).first(striped ? streams_.size() : 1)) {
    const Share share = share_of(from.bytes, stream.number);
    const ConstBuffer payload(from.data + share.begin, share.bytes);
    if (stream.send_at_once(header, payload)) {
      done.done(Status());
      continue;
    }
    const bool first = stream.outbox.empty();
    stream.outbox.push(header, payload, done);
    if (first) flush(stream);
  }
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
  if (receive.to.bytes > frame_bytes_max) {
    receive.completion->done(too_long(receive.to.bytes));
    return;
  }
  receive.expected = encode(Header{FrameKind::message, tag, static_cast<std::uint32_t>(receive.to.bytes)});
  if (is_striped(receive.to.bytes, streams())) {
    post_shares(receive);
  } else {
    streams_.front().inbox.messages().post(receive);
  }
}

void TcpLink::post_shares(PostedReceive receive) {
  const Buffer to = receive.to;
  const std::byte* const mine = receive.mine;
  const bool whole_elements = share_alignment % receive.reduction.element_bytes == 0;
  std::byte* target = to.data;
  if (receive.reduction.combines() && !whole_elements) {
    receive.completion =
        &stripes_.join_and_reduce(streams_.size(), *receive.completion, mine, to, receive.reduction, target);
    receive.reduction = {};
  } else {
    receive.completion = &stripes_.join(streams_.size(), *receive.completion);
  }
  for (Stream& stream : streams_) {
    const Share share = share_of(to.bytes, stream.number);
    receive.to = {target + share.begin * receive.reduction.to_width, share.bytes};
    if (mine != nullptr) receive.mine = mine + share.begin * receive.reduction.mine_width;
    stream.inbox.messages().post(receive);
  }
}

void TcpLink::take_waiting(Stream& stream) {
  if (const auto what = stream.inbox.messages().take_waiting()) context_.listener->peer_waits(peer(), *what);
}

// Every message begins on the first stream.
std::optional<Tag> TcpLink::probe() {
  const Stream& first = streams_.front();
  if (ended_with_ || first.left || !first.inbox.messages().unexpected()) return std::nullopt;
  const auto header = parse_header(first.inbox.messages().got());
  if (!header || header->kind != FrameKind::message) return std::nullopt;
  return header->tag;
}

void TcpLink::tell_waiting(const Waiting& what) {
  Stream& stream = streams_.front();
  if (!working(stream)) return;
  stream.outbox.push(encode(header_of(what)), ConstBuffer(), nobody_);
  flush(stream);
}

std::size_t TcpLink::advance() {
  std::size_t happened = 0;
  for (Stream& stream : streams_) happened += advance(stream);
  return happened;
}

std::size_t TcpLink::advance(Stream& stream) {
  std::size_t happened = 0;
  if (stream.flushing()) happened += flush(stream);
  if (stream.send_error != 0) lose(stream, std::exchange(stream.send_error, 0));
  if (!ended_with_ && (stream.wanted() || stream.hidden())) happened += receive(stream);
  if (stream.hidden_behind() && hear_behind(stream)) ++happened;
  return happened;
}

std::size_t TcpLink::look(std::size_t index, short events) {
  Stream& stream = streams_[index];
  if (stream.ended()) return 0;
  if (ended_with_) {
    const std::size_t heard = hear_last_word(stream) ? 1 : 0;
    if (!awaits_word_) stream.drain(context_.staging);
    return heard + flush(stream);
  }
  std::size_t happened = advance(stream);
  if (ended_with_) return happened + 1;
  if (stream.left) return happened;
  const MessageReader& messages = stream.inbox.messages();
  if (!messages.unexpected() && !messages.wanted()) happened += receive(stream);
  if (ended_with_ || !messages.unexpected()) return happened;
  if (hear_behind(stream)) ++happened;
  const bool hung_up = !ended_with_ && (events & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
  if (hung_up && act_on(stream, stream.inbox.peek_end(stream.socket))) ++happened;
  return happened;
}

void TcpLink::listen_behind_messages(bool on) {
  streams_.front().reads_ahead = on;
  (void)hear_behind(streams_.front());
}

// Whether anything came behind messages that nobody receives yet.
bool TcpLink::hear_behind(Stream& stream) {
  const bool may = stream.reads_ahead && working(stream) && !stream.left && stream.inbox.messages().unexpected();
  if (!may) return false;
  const bool came = stream.inbox.read_ahead(stream.socket);
  take_waiting(stream);
  const bool ended = stream.inbox.ended();  // no poll(2) tells of that any more
  return (ended && act_on(stream, stream.inbox.peek_end(stream.socket))) || came;
}

std::size_t TcpLink::flush(Stream& stream) {
  const std::size_t completed = stream.flush(ended_with_.has_value());
  if (ended_with_ && stream.send_error != 0) {  // nobody listens: nothing is left to say
    const Status why = name_.lost(std::exchange(stream.send_error, 0));
    stream.drop_sends(why);
    stream.flush(true);
  }
  return completed;
}

std::size_t TcpLink::receive(Stream& stream) {
  const auto progress = stream.inbox.advance(stream.socket, context_.staging);
  take_waiting(stream);
  MessageReader& messages = stream.inbox.messages();
  if (messages.take_small_read()) context_.pace.read(progress.completed > 1 || messages.kept() > 0);
  const std::size_t ended = act_on(stream, progress.event) ? 1 : 0;
  return progress.completed + (progress.bytes > 0 ? 1 : 0) + ended;
}

bool TcpLink::busy() const {
  return std::ranges::any_of(streams_, [&](const Stream& stream) {
    return stream.attached() && (stream.flushing() || (!ended_with_ && stream.wanted()));
  });
}

bool TcpLink::ready() const {
  return std::ranges::any_of(streams_, [&](const Stream& stream) {
    return working(stream) && ((stream.wanted() && stream.inbox.messages().ready()) || stream.hidden() ||
                               stream.hidden_behind() || stream.send_error != 0);
  });
}

bool TcpLink::flushing() const {
  return std::ranges::any_of(streams_, &Stream::flushing);
}

bool TcpLink::ended() const {
  return std::ranges::all_of(streams_, &Stream::ended);
}

bool TcpLink::unacknowledged() const {
  return std::ranges::any_of(
      streams_, [](const Stream& stream) { return !stream.ended() && may_lose_bytes(stream.socket.fd()); });
}

}  // namespace hocket::tcp
