#include "transports/tcp/inbox.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "transports/tcp/pieces.hpp"

namespace hocket::tcp {
namespace {

constexpr std::size_t bytes_per_advance = std::size_t{1} << 20;  // then others have their turn

// The array's own == goes byte by byte.
bool equal(const std::byte* header, const Frame& expected) {
  return std::memcmp(header, expected.data(), expected.size()) == 0;
}

}  // namespace

std::vector<Completion*> Inbox::abandon() {
  std::vector<Completion*> completions;
  completions.reserve(posted_.size());
  for (const PostedReceive& receive : posted_) completions.push_back(receive.completion);
  posted_.clear();
  return completions;
}

Inbox::Progress Inbox::advance(int fd, std::span<std::byte> staging) {
  Progress progress;
  bool dry = false;
  while (!in_cause_ && settle(progress) && !in_cause_) {
    const bool done = progress.completed > 0 && posted_.empty();  // what comes next is for look() to see
    const bool enough = done || dry || progress.bytes >= bytes_per_advance;
    if (enough && spilled() == 0) break;
    if (!read(fd, staging, progress, dry)) break;
  }
  if (in_cause_) read_cause(fd, progress);
  return progress;
}

// Deals with what is already here: judges a header, completes receives. False: no use in reading on.
bool Inbox::settle(Progress& progress) {
  while (have_ == header_bytes) {
    if (!matched_ && !judge(progress)) return false;
    if (have_ == 0) return true;  // it was for nobody's receive
    if (in_cause_ || payload_missing() > 0) return true;
    finish(progress);
  }
  return true;
}

// What a complete header means. False: no use in reading on.
bool Inbox::judge(Progress& progress) {
  if (!posted_.empty() && equal(header_.data(), posted_.front().expected)) {
    matched_ = true;
    return true;
  }
  const auto stop = [&](Event event) {
    progress.event = event;
    return false;
  };
  auto header = parse_header(header_);
  if (!header) {
    problem_ = header.status();
    return stop(Event::nonsense);
  }
  switch (header->kind) {
    case FrameKind::goodbye: return stop(Event::goodbye);
    case FrameKind::waiting:
      waiting_ = header->tag;
      have_ = 0;
      return true;
    case FrameKind::cause:
      in_cause_ = true;
      cause_bytes_.resize(header->bytes);
      return true;
    case FrameKind::message: break;
  }
  return posted_.empty() ? false : stop(Event::mismatch);
}

void Inbox::read_cause(int fd, Progress& progress) {
  while (cause_have_ < cause_bytes_.size()) {
    iovec part{cause_bytes_.data() + cause_have_, cause_bytes_.size() - cause_have_};
    const ssize_t taken = take(fd, &part, 1, progress);
    if (taken <= 0) return;
    cause_have_ += static_cast<std::size_t>(taken);
  }
  cause_ = parse_cause(cause_bytes_);
  progress.event = cause_ ? Event::cause : Event::nonsense;
  if (!cause_) problem_ = Status(Code::protocol_error, "a cause is malformed");
}

// One system call: the header's rest, the payload's, and the next header if nothing else can follow. False: nothing
// came. Sets `dry` when the kernel has no more.
bool Inbox::read(int fd, std::span<std::byte> staging, Progress& progress, bool& dry) {
  const bool alone = posted_.size() == 1 && have_ == 0 && spilled() == 0;
  if (alone && header_bytes + posted_.front().to.bytes <= copied_bytes_max) return read_small(fd, progress, dry);
  iovec parts[3];
  std::size_t count = 0;
  std::size_t wanted_bytes = 0;
  const auto want = [&](std::byte* data, std::size_t bytes) {
    if (bytes == 0) return;
    parts[count++] = {data, bytes};
    wanted_bytes += bytes;
  };
  want(header_.data() + have_, header_bytes - have_);
  std::span<std::byte> area;
  if (!posted_.empty()) {
    area = payload_area(staging);
    want(area.data(), area.size());
    if (posted_.size() > 1 && area.size() == payload_missing()) want(ahead_.data(), ahead_.size());
  }
  const bool from_kernel = spilled() == 0;
  const ssize_t taken = take(fd, parts, count, progress);
  if (taken <= 0) return false;
  place(static_cast<std::size_t>(taken), area, staging);
  dry = from_kernel && static_cast<std::size_t>(taken) < wanted_bytes;
  return true;
}

// As read(), of a small message that nothing has come of yet: it is reduced where it was read. Anything else that came
// goes the usual way.
bool Inbox::read_small(int fd, Progress& progress, bool& dry) {
  const PostedReceive& front = posted_.front();
  const std::size_t wanted_bytes = header_bytes + front.to.bytes;
  std::array<std::byte, copied_bytes_max> message;
  iovec whole{message.data(), wanted_bytes};
  const ssize_t taken = take(fd, &whole, 1, progress);
  if (taken <= 0) return false;
  if (static_cast<std::size_t>(taken) < wanted_bytes || !equal(message.data(), front.expected)) {
    dry = static_cast<std::size_t>(taken) < wanted_bytes;
    spill_.assign(message.data(), message.data() + taken);
    return true;
  }
  have_ = header_bytes;
  matched_ = true;
  const std::byte* const payload = message.data() + header_bytes;
  if (front.reduction.combines()) {
    front.reduction.combine(front.to.data, front.mine, payload, front.to.bytes / front.reduction.element_bytes);
  } else {
    std::copy_n(payload, front.to.bytes, front.to.data);
  }
  got_ = front.to.bytes;
  return true;
}

// Accounts for `bytes` that have just been read into header, area and next header, in this order.
void Inbox::place(std::size_t bytes, std::span<std::byte> area, std::span<std::byte> staging) {
  const std::size_t of_header = std::min(bytes, header_bytes - have_);
  have_ += of_header;
  bytes -= of_header;
  const std::size_t of_payload = std::min(bytes, area.size());
  bytes -= of_payload;
  if (have_ == header_bytes && !matched_ && !posted_.empty()) {
    matched_ = equal(header_.data(), posted_.front().expected);
    if (!matched_) {  // something else came: its bytes are not this receive's
      spill_.erase(spill_.begin(), spill_.begin() + static_cast<std::ptrdiff_t>(spill_at_));
      spill_at_ = 0;
      spill_.insert(spill_.begin(), ahead_.begin(), ahead_.begin() + static_cast<std::ptrdiff_t>(bytes));
      spill_.insert(spill_.begin(), area.begin(), area.begin() + static_cast<std::ptrdiff_t>(of_payload));
      return;
    }
  }
  if (of_payload > 0) absorb(of_payload, staging);
  ahead_have_ = bytes;
}

std::span<std::byte> Inbox::payload_area(std::span<std::byte> staging) const {
  const PostedReceive& front = posted_.front();
  const std::size_t missing = payload_missing();
  if (!front.reduction.combines()) return {front.to.data + got_, missing};
  const auto room = staging.subspan(leftover_bytes_);
  return room.first(std::min(room.size(), missing));
}

// `bytes` of the front receive's payload have arrived in its area.
void Inbox::absorb(std::size_t bytes, std::span<std::byte> staging) {
  PostedReceive& front = posted_.front();
  if (!front.reduction.combines()) {
    got_ += bytes;
    return;
  }
  if (leftover_bytes_ > 0) std::memcpy(staging.data(), leftover_.data(), leftover_bytes_);
  const std::size_t total = leftover_bytes_ + bytes;
  const std::size_t elements = total / front.reduction.element_bytes;
  const std::size_t whole = elements * front.reduction.element_bytes;
  if (elements > 0) front.reduction.combine(front.to.data + got_, front.mine + got_, staging.data(), elements);
  got_ += whole;
  leftover_bytes_ = total - whole;
  std::memcpy(leftover_.data(), staging.data() + whole, leftover_bytes_);
}

void Inbox::finish(Progress& progress) {
  Completion* const completion = posted_.front().completion;
  posted_.pop_front();
  header_ = ahead_;
  have_ = ahead_have_;
  ahead_have_ = 0;
  matched_ = false;
  got_ = 0;
  leftover_bytes_ = 0;
  ++progress.completed;
  completion->done(Status());
}

// Bytes from the spill, else from the kernel. 0: none now. Negative: the connection is over, and progress says how.
ssize_t Inbox::take(int fd, iovec* parts, std::size_t count, Progress& progress) {
  if (spilled() > 0) {
    std::size_t taken = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t bytes = std::min(parts[i].iov_len, spilled());
      if (bytes > 0) std::memcpy(parts[i].iov_base, spill_.data() + spill_at_, bytes);
      spill_at_ += bytes;
      taken += bytes;
    }
    if (spilled() == 0) {
      spill_.clear();
      spill_at_ = 0;
    }
    return static_cast<ssize_t>(taken);
  }
  const ssize_t taken = from_kernel(fd, parts, count);
  if (taken > 0) progress.bytes += static_cast<std::size_t>(taken);
  if (taken < 0) progress.event = error_ != 0 ? Event::error : Event::end;
  return taken;
}

ssize_t Inbox::from_kernel(int fd, iovec* parts, std::size_t count) {
  if (ended_) return -1;
  ssize_t taken;
  do {
    taken = receive_pieces(fd, {parts, count});
  } while (taken < 0 && errno == EINTR);
  if (taken > 0) return taken;
  if (taken < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return 0;
  ended_ = true;
  error_ = taken < 0 ? errno : 0;
  return -1;
}

Inbox::Event Inbox::foresee(int fd) {
  // The peer sends no more, so what is left is no larger than the kernel's buffer.
  constexpr std::size_t step = std::size_t{64} << 10;
  while (true) {
    const std::size_t held = spill_.size();
    spill_.resize(held + step);
    iovec part{spill_.data() + held, step};
    const ssize_t taken = from_kernel(fd, &part, 1);
    spill_.resize(held + static_cast<std::size_t>(std::max<ssize_t>(taken, 0)));
    if (taken <= 0) break;
  }
  if (!ended_) return Event::none;

  std::span<const std::byte> left(spill_.data() + spill_at_, spilled());
  Frame frame = header_;
  while (true) {
    auto header = parse_header(frame);
    if (!header) {
      problem_ = header.status();
      return Event::nonsense;
    }
    if (header->kind == FrameKind::goodbye) return Event::none;  // in order: received when the messages before it are
    const std::size_t follows =
        header->kind == FrameKind::message ? share_of(header->bytes, stream_).bytes : header->bytes;
    if (left.size() < follows) break;
    if (header->kind == FrameKind::cause) {
      cause_ = parse_cause(left.first(follows));
      if (cause_) return Event::cause;
      problem_ = Status(Code::protocol_error, "a cause is malformed");
      return Event::nonsense;
    }
    left = left.subspan(follows);
    if (left.size() < header_bytes) break;
    std::copy_n(left.begin(), header_bytes, frame.begin());
    left = left.subspan(header_bytes);
  }
  return error_ != 0 ? Event::error : Event::end;
}

}  // namespace hocket::tcp
