// Collectives on lists of tensors: what is small is packed, what is large goes as it is. Which is which, and what is
// packed with what, depends on counts and types alone, so that all ranks agree.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "src/base/hash.hpp"
#include "src/comm/call_planner.hpp"
#include "src/comm/validate.hpp"

namespace hocket::comm {
namespace {

// Bytes of the larger buffer of any rank. From alone_bytes on, two copies cost more than an operation; packs are cut so
// that they stay in caches and take little memory.
constexpr std::size_t alone_bytes = std::size_t{128} << 10;
constexpr std::size_t pack_bytes_max = std::size_t{1} << 20;

// So that ranks with other lists find out.
std::uint64_t digest_of_list(std::span<const hocket_tensor> tensors) {
  Hash hash;
  hash.add(tensors.size());
  for (const hocket_tensor& tensor : tensors) hash.add(tensor.count).add(static_cast<std::uint64_t>(tensor.dtype));
  return hash.value();
}

class Packer {
 public:
  Packer(const CallArguments& call, std::span<const hocket_tensor> tensors, Rank rank, Rank size)
      : call_(call),
        tensors_(tensors),
        rank_(rank),
        size_(size),
        blocks_(blocks_of(call.collective, rank, call.root, size)),
        // What is encoded together is of one tensor, as in a call for it alone.
        unit_(info_of(static_cast<WireFormat>(call.wire)).block_bytes > 0 ? wire_block_elements : 1) {}

  Status check();
  // Calls make(arguments, checked, staging) for each operation, in an order that is the same on all ranks. Once, after
  // check() was ok.
  template <class Make>
  void pack(Make make);

 private:
  struct Pack {
    std::vector<std::size_t> tensors;
    std::size_t bytes = 0;
  };
  struct Stretch {
    std::uintptr_t begin = 0, end = 0;
    std::size_t tensor = SIZE_MAX;
    bool output = false;
  };
  // Of stretches seen, the one that reaches furthest, and the one of another tensor that does.
  struct Furthest {
    Stretch first, second;

    void add(const Stretch& next) {
      if (next.tensor == first.tensor) {
        if (next.end > first.end) first = next;
      } else if (next.end > first.end) {
        second = std::exchange(first, next);
      } else if (next.end > second.end) {
        second = next;
      }
    }
    const Stretch& beside(std::size_t tensor) const { return first.tensor == tensor ? second : first; }
  };

  Status refuse(const std::string& what) const {
    return {Code::invalid_argument, fmt::format("{} of a list: {}", name_of(call_.collective), what)};
  }
  std::size_t element_bytes(std::size_t tensor) const { return size_of(checked_[tensor].signature); }
  CallArguments one(std::size_t tensor) const;
  std::size_t padded(std::size_t tensor) const { return (tensors_[tensor].count + unit_ - 1) / unit_ * unit_; }
  Status check_overlap() const;
  template <class Make>
  void make_several(const std::vector<std::size_t>& tensors, Make make);

  const CallArguments& call_;
  const std::span<const hocket_tensor> tensors_;
  const Rank rank_, size_;
  const Blocks blocks_;
  const std::size_t unit_;            // elements; in packs, tensors begin at multiples of it
  std::vector<CheckedCall> checked_;  // by tensor; of no tensors: one call that moves nothing
};

CallArguments Packer::one(std::size_t tensor) const {
  CallArguments arguments = call_;
  if (tensors_.empty()) {
    arguments.op = HOCKET_SUM;
    arguments.wire = HOCKET_WIRE_EXACT;
    return arguments;
  }
  const hocket_tensor& given = tensors_[tensor];
  arguments.send = given.send;
  arguments.recv = given.recv;
  arguments.count = given.count;
  arguments.dtype = given.dtype;
  return arguments;
}

Status Packer::check() {
  if (tensors_.data() == nullptr && !tensors_.empty()) {
    return refuse(fmt::format("tensors is null, but number is {}", tensors_.size()));
  }
  const std::uint64_t digest = digest_of_list(tensors_);
  for (std::size_t tensor = 0; tensor < std::max<std::size_t>(tensors_.size(), 1); ++tensor) {
    auto checked = validate(one(tensor), rank_, size_);
    if (!checked.ok()) {
      return {checked.status().code(), fmt::format("tensor {} of a list: {}", tensor, checked.status().message())};
    }
    checked->signature.kind = SignatureKind::list;
    checked->signature.digest = digest;
    checked_.push_back(std::move(*checked));
  }
  const auto other_type = [&](const hocket_tensor& tensor) { return tensor.dtype != tensors_.front().dtype; };
  const auto other = std::ranges::find_if(tensors_, other_type);
  if (info_of(static_cast<ReduceOp>(call_.op)).takes == Takes::scalar && info_of(call_.collective).reduces() &&
      other != tensors_.end()) {
    return refuse(
        fmt::format("options.scalar is one {}, but tensor {} is of {}; HOCKET_PREMULTIPLIED_SUM needs tensors "
                    "of one type",
                    name_of(checked_.front().signature.dtype), other - tensors_.begin(),
                    name_of(static_cast<DataType>(other->dtype))));
  }
  return check_overlap();
}

Status Packer::check_overlap() const {
  std::vector<Stretch> stretches;
  for (std::size_t tensor = 0; tensor < tensors_.size(); ++tensor) {
    const std::size_t bytes = tensors_[tensor].count * element_bytes(tensor);
    const auto add = [&](const void* at, std::size_t blocks, bool output) {
      const auto begin = reinterpret_cast<std::uintptr_t>(at);
      if (blocks * bytes != 0) stretches.push_back({begin, begin + blocks * bytes, tensor, output});
    };
    add(tensors_[tensor].send, blocks_.send, false);
    add(tensors_[tensor].recv, blocks_.recv, true);
  }
  std::ranges::sort(stretches, {}, &Stretch::begin);
  Furthest all, outputs;  // of those that begin before the next
  for (const Stretch& next : stretches) {
    const Stretch& other = (next.output ? all : outputs).beside(next.tensor);
    if (other.end > next.begin) {
      return refuse(fmt::format("tensors {} and {} overlap, and one of them is written",
                                std::min(other.tensor, next.tensor), std::max(other.tensor, next.tensor)));
    }
    all.add(next);
    if (next.output) outputs.add(next);
  }
  return {};
}

// In memory of the operation's own, in place where it has both buffers: for each block, that of every tensor one behind
// the other.
template <class Make>
void Packer::make_several(const std::vector<std::size_t>& tensors, Make make) {
  CheckedCall checked = checked_[tensors.front()];
  const std::size_t element = size_of(checked.signature);
  std::size_t count = 0;
  for (const std::size_t tensor : tensors) count += padded(tensor);
  const std::size_t block_bytes = count * element, own_block = static_cast<std::size_t>(rank_) * block_bytes;
  const bool gathers = blocks_.recv > 1, scatters = blocks_.send > 1;
  const std::size_t input_at = gathers ? own_block : 0, output_at = scatters ? own_block : 0;
  auto staging = std::make_shared<Staging>(std::max(blocks_.send, blocks_.recv) * block_bytes, input_at, output_at);
  if (unit_ > 1) staging->clear_gaps();
  std::size_t offset = 0;
  for (const std::size_t tensor : tensors) {
    const std::size_t length = tensors_[tensor].count * element;
    for (std::size_t block = 0; block < blocks_.send; ++block) {
      const auto* from = static_cast<const std::byte*>(tensors_[tensor].send) + block * length;
      staging->take(from, length, input_at + block * block_bytes + offset);
    }
    for (std::size_t block = 0; block < blocks_.recv; ++block) {
      auto* to = static_cast<std::byte*>(tensors_[tensor].recv) + block * length;
      staging->give(to, length, output_at + block * block_bytes + offset);
    }
    offset += padded(tensor) * element;
  }
  const bool both = blocks_.send != 0 && blocks_.recv != 0;
  checked.placement = both ? Placement::in_place : Placement::out_of_place;
  checked.signature.count = count;
  checked.bytes = block_bytes * (gathers || scatters ? static_cast<std::size_t>(size_) : 1);
  checked.input_bytes = block_bytes * blocks_.send;
  make(call_, checked, std::move(staging));
}

template <class Make>
void Packer::pack(Make make) {
  bool moves = false;
  const auto close = [&](Pack& pack) {
    if (pack.tensors.size() > 1) {
      make_several(pack.tensors, make);
    } else if (!pack.tensors.empty()) {
      make(one(pack.tensors.front()), checked_[pack.tensors.front()], nullptr);
    }
    pack = {};
  };
  std::map<DataType, Pack> open;
  for (std::size_t tensor = 0; tensor < tensors_.size(); ++tensor) {
    const std::size_t bytes = checked_[tensor].bytes;
    if (bytes == 0) continue;
    moves = true;
    if (bytes >= alone_bytes || size_ == 1) {
      make(one(tensor), checked_[tensor], nullptr);
      continue;
    }
    Pack& pack = open[checked_[tensor].signature.dtype];
    if (pack.bytes + bytes > pack_bytes_max) close(pack);
    pack.tensors.push_back(tensor);
    pack.bytes += bytes;
  }
  for (auto& [dtype, pack] : open) close(pack);
  if (!moves) make(one(0), checked_.front(), nullptr);  // nothing to move is a call too
}

}  // namespace

Result<std::vector<std::shared_ptr<Operation>>> CallPlanner::prepare_list(const CallArguments& call,
                                                                          std::span<const hocket_tensor> tensors) {
  Packer packer(call, tensors, membership().rank(), membership().size());
  if (Status status = packer.check(); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  latest_calls_.forget();
  std::vector<std::shared_ptr<Operation>> operations;
  Status failure;
  packer.pack([&](const CallArguments& one, const CheckedCall& checked, std::shared_ptr<Staging> staging) {
    auto operation = failure.ok() ? plan_where_data_is(one, checked, std::move(staging)) : failure;
    if (operation.ok()) return operations.push_back(std::move(*operation));
    failure = operation.status();
  });
  if (failure.ok()) return operations;
  for (const auto& operation : operations) operation->finish(failure);
  return failure;
}

}  // namespace hocket::comm
