#include "transports/shm/shm_link.hpp"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "src/base/fence.hpp"
#include "src/base/mismatch.hpp"

namespace hocket::shm {
namespace {

constexpr std::size_t unread_max = std::size_t{16} << 10;

static_assert(sizeof(Waiting) == sizeof(Packet::words));

// None where the process is this one, or cannot be seen.
UniqueFd watch_process(pid_t pid) {
  if (pid <= 0 || pid == ::getpid()) return {};
  const long fd = ::syscall(SYS_pidfd_open, pid, 0);
  return UniqueFd(static_cast<int>(fd));
}

}  // namespace

std::string ShmLink::name() const {
  return connection_.pid == 0 ? fmt::format("rank {}", peer_)
                              : fmt::format("rank {} (process {})", peer_, connection_.pid);
}

Status ShmLink::problem(Code code, std::string message) const {
  return Status(Cause{.code = code,
                      .message = std::move(message),
                      .rank = context_.rank,
                      .peer = peer_,
                      .ended = code == Code::peer_lost});
}

void ShmLink::attach(Connection connection) {
  connection_ = std::move(connection);
  process_ = watch_process(connection_.pid);
  if (owes_cause_) last_word(cause_packet_);
  flush();
  finish_goodbye();
}

void ShmLink::send(const Tag& tag, ConstBuffer from, Completion& completion) {
  if (ended_with_) {
    completion.done(*ended_with_);
    return;
  }
  if (send_now(tag, {from.data, from.bytes})) {
    full_fence();
    wake_receiver();
    completion.done(Status());
    return;
  }
  const MessageHeader header{.bytes = from.bytes, .tag = tag};
  const std::optional<PayloadPlace> place = place_of(tag, from);
  const bool first = outbox_.all_written();
  outbox_.push(header, from.data, completion, place);
  if (first && attached()) flush();
}

// Where the peer finds a payload that need not pass through the ring.
std::optional<PayloadPlace> ShmLink::place_of(const Tag& tag, ConstBuffer payload) {
  if (payload.bytes < context_.plain_messages.bytes_min || !attached()) return std::nullopt;
  const auto place = context_.windows->place_of(peer_, payload.data, payload.bytes);
  // What goes one way is written and read side by side in a ring; a send goes both ways where its rank waits for long
  // data, too.
  const PlainMessages& plain = context_.plain_messages;
  const bool may_stay = plain.always || tag.call.kind != SignatureKind::send || context_.long_receives > 0;
  const std::span bytes{payload.data, payload.bytes};
  if (place || !may_stay || !outbox_.leaves_in_place(plain, tag.call, bytes, context_.plain_memory)) return place;
  return PayloadPlace{.offset = std::bit_cast<std::uintptr_t>(payload.data)};
}

bool ShmLink::send_now(const Tag& tag, std::span<const std::byte> from) noexcept {
  return !ended_with_ && outbox_.write_at_once(tag, from);
}

// Behind the last message before a goodbye there is more to do.
bool ShmLink::recv_now(const Tag& tag, std::span<std::byte> to) noexcept {
  if (ended_with_ || goodbye_came_) return false;
  return inbox_.take_at_once(tag, to, connection_.wake_event.get());
}

void ShmLink::recv(const Tag& tag, Buffer to, Completion& completion) {
  post(tag, {.expected = {}, .to = to, .completion = &completion});
}

void ShmLink::recv_reduce(const Tag& tag, ConstBuffer mine, Buffer to, const Reduction& reduction,
                          Completion& completion) {
  post(tag, {.expected = {}, .to = to, .mine = mine.data, .reduction = reduction, .completion = &completion});
}

void ShmLink::post(const Tag& tag, PostedReceive receive) {
  if (ended_with_) {
    receive.completion->done(*ended_with_);
    return;
  }
  receive.expected = {.bytes = receive.to.bytes, .tag = tag};
  receive.past_caches = receive.to.bytes >= context_.bytes_past_caches_min;
  // It may have come before. What is to be combined, is long, or lies elsewhere takes time, in which the peers would
  // wait for what is sent next.
  const bool is_long = receive.to.bytes >= in_place_bytes_min || inbox_.next_lies_in_its_place();
  const bool takes_time = receive.reduction.combines() || is_long;
  const bool at_once = !inbox_.wanted() && !takes_time && attached() && inbox_.open();
  inbox_.post(receive);
  if (at_once) this->receive();
}

std::optional<Tag> ShmLink::probe() {
  if (!up()) return std::nullopt;
  MessageHeader header;
  switch (inbox_.probe(header)) {
    case Inbox::Probe::none: break;
    case Inbox::Probe::message: return header.tag;
    case Inbox::Probe::malformed: malformed("its end of the ring lies beyond ours"); break;
  }
  return std::nullopt;
}

// Not to a peer that does not read: its socket must have room for a last word.
void ShmLink::tell_waiting(const Waiting& what) {
  if (!up() || channel().unread() > unread_max) return;
  channel().try_send({.kind = PacketKind::waiting, .words = std::bit_cast<decltype(Packet::words)>(what)});
}

// ---- messages
// ---------------------------------------------------------------------------------------------------------

std::size_t ShmLink::advance() {
  std::size_t happened = outbox_.empty() ? 0 : flush();
  if (up() && inbox_.wanted()) happened += receive();
  return happened;
}

// The memory of a direction is made by its sender, when there is something to send.
bool ShmLink::open_outbox() {
  if (outbox_.open()) return true;
  auto memory = outbox_.ring().create();
  if (!memory) {
    fail(problem(memory.status().code(), memory.status().message()), true);
    return false;
  }
  const int fd = memory->get();
  channel().send({.kind = PacketKind::ring, .words = {ring_bytes}}, {&fd, 1});
  return true;
}

std::size_t ShmLink::flush() {
  if (!attached() || outbox_.empty() || !open_outbox()) return 0;
  const auto progress = outbox_.flush(connection_.wake_event.get());
  if (progress.malformed) malformed("its end of the ring lies beyond ours");
  if (owes_goodbye_) finish_goodbye();
  return progress.completed + (progress.bytes > 0 ? 1 : 0);
}

// A sender tells of the memory in which a payload lies before it writes the header: so that is known at the latest when
// all packets have been taken. By then a message behind it may have come, in memory that was told of later.
std::size_t ShmLink::receive() {
  auto progress = inbox_.advance(connection_.wake_event.get());
  std::size_t happened = progress.happened();
  for (bool goes_on = true; progress.event == Inbox::Event::unknown && !listens_ && goes_on;) {
    happened += listen();
    if (!up()) return happened;
    progress = inbox_.advance(connection_.wake_event.get());
    goes_on = progress.happened() > 0;
    happened += progress.happened();
  }
  switch (progress.event) {
    case Inbox::Event::none: leave_if_drained(); return happened;
    case Inbox::Event::mismatch:
      fail(hocket::mismatch(context_.rank, peer_, inbox_.got(), inbox_.expected(), *context_.listener), true);
      break;
    case Inbox::Event::malformed: malformed("its end of the ring lies beyond ours"); break;
    case Inbox::Event::unreadable:
      fail(problem(Code::invalid_argument, fmt::format("{}: {}", name(), inbox_.why_unreadable())), true);
      break;
    case Inbox::Event::unknown:
      if (listens_) return happened;
      fail(
          problem(Code::invalid_argument, fmt::format("the registered memory from which {} sends is gone: it was freed "
                                                      "before the call was complete, or cannot be mapped here",
                                                      name())),
          true);
      break;
  }
  return happened + 1;
}

bool ShmLink::ready(bool listening) {
  return attached() && (outbox_.ready() || (up() && (inbox_.ready() || (listening && inbox_.news()))));
}

void ShmLink::announce_sleep(bool asleep, bool listening) {
  outbox_.announce_sleep(asleep);
  inbox_.announce_sleep(asleep, listening);
}

// ---- packets
// ----------------------------------------------------------------------------------------------------------

std::size_t ShmLink::listen(bool died) {
  listens_ = true;
  const std::size_t happened = take_packets(died);
  listens_ = false;
  return happened;
}

std::size_t ShmLink::take_packets(bool died) {
  if (!attached() || peer_ended_) return 0;
  std::size_t happened = 0;
  if (!channel().flush()) died = true;
  for (Packet packet;;) {
    const auto event = channel().receive(packet);
    switch (event) {
      case Channel::Event::packet:
        ++happened;
        act_on(packet);
        continue;
      case Channel::Event::nothing:
        if (!died) return happened;
        break;
      case Channel::Event::no_room:
        if (packet.kind == PacketKind::segment) {  // without that, its window goes without this rank
          packet.fds.clear();
          act_on(packet);
          continue;
        }
        fail(problem(Code::out_of_resources,
                     fmt::format("no file descriptor is left for what {} hands over: raise `ulimit -n`", name())),
             true);
        continue;
      case Channel::Event::malformed: malformed("a packet on its socket is not one of Hocket's"); continue;
      case Channel::Event::end:
      case Channel::Event::error: break;
    }
    break;
  }
  peer_ended_ = true;
  inbox_.forget_writer();
  while (up() && inbox_.wanted() && receive() > 0) {
  }                                            // what it sent before it ended
  if (goodbye_came_ && up()) return happened;  // until its last messages are received
  fail(lost(), false);
  return happened + 1;
}

void ShmLink::act_on(Packet& packet) {
  if (ended_with_) return hear_last_word(packet);
  switch (packet.kind) {
    case PacketKind::hello:
    case PacketKind::welcome:
    case PacketKind::challenge:
    case PacketKind::proof:
    case PacketKind::distrust: return malformed("it greets twice");
    case PacketKind::cause: {
      while (up() && inbox_.wanted() && receive() > 0) {
      }  // what it sent before
      Cause cause = cause_of(packet);
      if (cause.rank == no_rank) cause.rank = peer_;
      fail(Status(std::move(cause)), false);
      return channel().finish();  // so the peer knows that this side has nothing to add
    }
    case PacketKind::goodbye: goodbye_came_ = true; return leave_if_drained();
    case PacketKind::ring: {
      if (packet.fds.size() != 1 || inbox_.open()) return malformed("it hands over a ring that nobody waits for");
      const Status opened = inbox_.ring().open(packet.fds.front().get());
      if (opened.code() == Code::protocol_error) return malformed(opened.message());
      if (!opened.ok()) fail(problem(opened.code(), opened.message()), true);
      return;
    }
    case PacketKind::waiting: return context_.listener->peer_waits(peer_, std::bit_cast<Waiting>(packet.words));
    case PacketKind::opening:
    case PacketKind::segment:
    case PacketKind::ready:
    case PacketKind::refusal:
    case PacketKind::region:
    case PacketKind::gone_region:
      if (!context_.windows->deliver(peer_, packet)) malformed("it names a window that cannot exist");
      return;
  }
}

void ShmLink::interests(std::vector<pollfd>& interests, short events) const {
  const bool listening = attached() && !peer_ended_;
  if (connection_.channel.flushing()) events |= POLLOUT;
  if (listening) interests.push_back({connection_.channel.fd(), events, 0});
  if (listening && process_) interests.push_back({process_.get(), POLLIN, 0});
}

}  // namespace hocket::shm
