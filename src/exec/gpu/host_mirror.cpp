#include "src/exec/gpu/host_mirror.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "src/base/arithmetic.hpp"
#include "src/base/copy_bytes.hpp"

namespace hocket {
namespace {

std::size_t device_bytes(const std::vector<MirrorLayout::Piece>& pieces) {
  std::size_t bytes = 0;
  for (const auto& piece : pieces) bytes += piece.on_device ? piece.bytes : 0;
  return bytes;
}

// In the order of the mirror, and what adjoins or overlaps here and there as one: blocks of an input may overlap.
void put_in_order(std::vector<MirrorLayout::Piece>& pieces) {
  std::ranges::sort(pieces, {}, &MirrorLayout::Piece::at);
  std::vector<MirrorLayout::Piece> joined;
  for (const auto& piece : pieces) {
    const bool joins = !joined.empty() && piece.on_device == joined.back().on_device &&
                       piece.at <= joined.back().at + joined.back().bytes &&
                       piece.data == joined.back().data + (piece.at - joined.back().at);
    if (joins) {
      joined.back().bytes = std::max(joined.back().bytes, piece.at + piece.bytes - joined.back().at);
    } else {
      joined.push_back(piece);
    }
  }
  pieces = std::move(joined);
}

}  // namespace

Result<std::unique_ptr<HostMirror>> HostMirror::make(std::shared_ptr<GpuLanes> lanes, const GpuCall& call,
                                                     MirrorLayout layout) {
  auto lane = lanes->take(call.gpu(), layout.bytes);
  if (!lane.ok()) return lane.status();
  std::unique_ptr<HostMirror> mirror(new HostMirror(std::move(lanes), std::move(*lane), call, std::move(layout)));
  if (mirror->marks_ > 1) {  // the last one is the lane's own
    if (Status made = mirror->lane_->make_marks(mirror->marks_ - 1); !made.ok()) return made;
  }
  return mirror;
}

HostMirror::HostMirror(std::shared_ptr<GpuLanes> lanes, std::unique_ptr<GpuLane> lane, const GpuCall& call,
                       MirrorLayout layout)
    : lanes_(std::move(lanes)), lane_(std::move(lane)), gpu_(lane_->gpu), call_(call), layout_(std::move(layout)) {
  put_in_order(layout_.in);
  put_in_order(layout_.out);
  output_bytes_ = device_bytes(layout_.out);
  cut_input();
}

void HostMirror::cut_input() {
  const std::size_t piece = std::max(piece_bytes, divide_up(device_bytes(layout_.in), pieces_max));
  std::size_t before = 0;  // bytes that come before
  for (const auto& [data, bytes, at, on_device] : layout_.in) {
    if (!on_device) continue;
    for (std::size_t offset = 0; offset < bytes;) {
      const std::size_t length = std::min(bytes - offset, piece - before % piece);
      arrivals_.push_back({data + offset, length, at + offset, static_cast<std::uint32_t>(before / piece)});
      offset += length;
      before += length;
    }
  }
  if (!arrivals_.empty()) marks_ = arrivals_.back().mark + 1;
}

// ---- in -------------------------------------------------------------------------------------------------------------

Result<bool> HostMirror::fill() {
  if (!copies_in_) {
    auto done = gpu_.reached(*lane_->copied);
    if (!done.ok() || !*done) return done;
    if (Status begun = begin_to_fill(); !begun.ok()) return begun;
    copies_in_ = true;
  }
  for (; arrived_ < marks_; ++arrived_) {
    auto reached = gpu_.reached(arrived_ + 1 == marks_ ? *lane_->copied : *lane_->marks[arrived_]);
    if (!reached.ok() || !*reached) return reached;
  }
  return true;
}

// Where nothing is read from the device, the host need not wait for the caller's stream; only what is copied back does.
Status HostMirror::begin_to_fill() {
  leaving_.clear();
  leaving_bytes_ = 0;
  gone_.clear();
  failure_ = Status();
  if (layout_.clears_gaps) std::memset(memory(), 0, layout_.bytes);
  if (Status status = call_.let_wait(lane_->stream); !status.ok()) return status;
  for (const auto& [data, bytes, at, on_device] : layout_.in) {
    if (!on_device) copy_bytes(memory() + at, data, bytes);
  }
  if (arrivals_.empty()) return {};
  const Status put = put_copies_in();
  const Status marked = mark_copies();  // else, where the call fails, the caller might free what is still read
  return put.ok() ? marked : put;
}

Status HostMirror::put_copies_in() {
  std::uint32_t mark = 0;
  for (const Arrival& arrival : arrivals_) {
    if (arrival.mark != mark) {
      if (Status status = gpu_.record(lane_->stream, *lane_->marks[mark]); !status.ok()) return status;
      mark = arrival.mark;
    }
    Status status = gpu_.copy(lane_->stream, memory() + arrival.at, arrival.data, arrival.bytes);
    if (!status.ok()) return status;
  }
  return {};
}

// The caller's stream goes on after what is in the lane's.
Status HostMirror::mark_copies() {
  if (Status status = gpu_.record(lane_->stream, *lane_->copied); !status.ok()) return status;
  return call_.go_on_after(*lane_->copied);
}

bool HostMirror::has_arrived(const std::byte* data, std::size_t bytes) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(data), first = reinterpret_cast<std::uintptr_t>(memory());
  if (arrived_ == marks_ || begin + bytes <= first || begin >= first + layout_.bytes) return true;
  const std::size_t from = begin < first ? 0 : begin - first, to = begin + bytes - first;
  const auto is_before = [&](const Arrival& arrival) { return arrival.at + arrival.bytes <= from; };
  for (auto at = std::ranges::partition_point(arrivals_, is_before); at != arrivals_.end() && at->at < to; ++at) {
    if (at->mark >= arrived_) return false;
  }
  return true;
}

// ---- out ------------------------------------------------------------------------------------------------------------

// As large pieces as what is copied in; and not before all that has arrived, behind which it would wait in the stream.
void HostMirror::may_leave(const std::byte* data, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data), first = reinterpret_cast<std::uintptr_t>(memory());
  if (begin < first || begin + bytes > first + layout_.bytes || !failure_.ok()) return;
  const std::size_t at = begin - first;
  if (!leaving_.empty() && leaving_.back().at + leaving_.back().bytes == at) {
    leaving_.back().bytes += bytes;
  } else {
    leaving_.push_back({at, bytes});
  }
  leaving_bytes_ += bytes;
  const std::size_t piece = std::max(piece_bytes, divide_up(output_bytes_, pieces_max));
  if (leaving_bytes_ >= piece && arrived_ == marks_) failure_ = let_leave();
}

// The caller's stream waits for each, since the call may fail before the next.
Status HostMirror::let_leave() {
  Status put;
  for (const auto& [at, bytes] : leaving_) {
    if (put.ok()) put = put_copies_out(at, bytes);
  }
  gone_.insert(gone_.end(), leaving_.begin(), leaving_.end());
  leaving_.clear();
  leaving_bytes_ = 0;
  const Status marked = mark_copies();  // also of what was put in before one failed
  return put.ok() ? marked : put;
}

// What of these bytes goes to the device.
Status HostMirror::put_copies_out(std::size_t at, std::size_t bytes) {
  const auto is_before = [&](const MirrorLayout::Piece& piece) { return piece.at + piece.bytes <= at; };
  auto piece = std::ranges::partition_point(layout_.out, is_before);
  for (; piece != layout_.out.end() && piece->at < at + bytes; ++piece) {
    if (!piece->on_device) continue;
    const std::size_t from = std::max(at, piece->at), to = std::min(at + bytes, piece->at + piece->bytes);
    Status status = gpu_.copy(lane_->stream, piece->data + (from - piece->at), memory() + from, to - from);
    if (!status.ok()) return status;
  }
  return {};
}

Status HostMirror::give_back() {
  copies_in_ = false;
  arrived_ = 0;
  if (!failure_.ok()) return failure_;
  for (const auto& [data, bytes, at, on_device] : layout_.out) {
    if (!on_device) copy_bytes(data, memory() + at, bytes);
  }
  std::ranges::sort(gone_, {}, &Stretch::at);
  gone_.push_back({layout_.bytes, 0});
  Status put;
  std::size_t from = 0;
  for (const auto& [at, bytes] : gone_) {
    if (put.ok() && from < at) put = put_copies_out(from, at - from);
    from = at + bytes;
  }
  const Status marked = mark_copies();
  return put.ok() ? marked : put;
}

}  // namespace hocket
