#include "bench/calls.hpp"

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "bench/lists.hpp"
#include "bench/unequal.hpp"

namespace hocket::bench {
namespace {

// What a case asks for beyond the arguments of its call.
class CallOptions {
 public:
  CallOptions(const Case& what, void* stream) {
    elements::visit(what.dtype, [&]<class T>(T) {
      const T value = elements::whole<T>(premultiplier);
      std::memcpy(scalar_, &value, sizeof value);
    });
    const bool premultiplies = what.collective->row->reduces() && what.op == ReduceOp::premultiplied_sum;
    if (premultiplies) options_.scalar = scalar_;
    options_.stream = stream;
    options_.wire = static_cast<hocket_wire>(what.wire);
    options_.persistent = what.persistent ? 1 : 0;
    asks_ = premultiplies || stream != nullptr || what.wire != WireFormat::exact || what.persistent;
  }
  CallOptions(const CallOptions&) = delete;
  CallOptions& operator=(const CallOptions&) = delete;
  const hocket_call_options* get() const { return asks_ ? &options_ : nullptr; }

 private:
  std::uint64_t scalar_[2] = {};  // one element of any type
  hocket_call_options options_ = HOCKET_CALL_OPTIONS_INIT;
  bool asks_ = false;
};

// Of a case's call, on this rank.
struct Arguments {
  Case what;
  Place place;
  hocket_comm* comm;
  const void* send;
  void* recv;
  hocket_dtype dtype;
  hocket_op op;
  std::shared_ptr<const CallOptions> asked;

  const hocket_call_options* options() const { return asked->get(); }
  int at_distance(int ranks) const { return (place.rank + place.size + ranks) % place.size; }
};

Call one_call(const Arguments& with) {
  return [with, number = static_cast<hocket_collective>(with.what.collective->row->collective)](hocket_work** work) {
    return hocket_call(number, with.send, with.recv, with.what.count, with.dtype, with.op, with.what.root, with.comm,
                       with.options(), work);
  };
}

Call with_neighbours(const Arguments& with) {
  return [with, next = with.at_distance(1), previous = with.at_distance(-1)](hocket_work** work) {
    const std::size_t count = with.what.count;
    return hocket_sendrecv(with.send, count, next, with.recv, count, previous, with.dtype, with.comm, with.options(),
                           work);
  };
}

// What a call in a group fails with is what its end fails with.
Call from_any(const Arguments& with) {
  return [with, next = with.at_distance(1)](hocket_work** work) {
    const std::size_t count = with.what.count;
    if (const hocket_result result = hocket_group_start(); result != HOCKET_OK) return result;
    (void)hocket_recv_any(with.recv, count, with.dtype, nullptr, with.comm, with.options(), nullptr);
    (void)hocket_send(with.send, count, with.dtype, next, with.comm, with.options(), nullptr);
    return hocket_group_end(work);
  };
}

Call with_everyone(const Arguments& with) {
  return [with, block_bytes = with.what.count * size_of(with.what.dtype)](hocket_work** work) {
    const std::size_t count = with.what.count;
    if (const hocket_result result = hocket_group_start(); result != HOCKET_OK) return result;
    for (int distance = 0; distance < with.place.size; ++distance) {
      const int to = with.at_distance(distance), from = with.at_distance(-distance);
      const auto* const block = static_cast<const std::byte*>(with.send) + static_cast<std::size_t>(to) * block_bytes;
      auto* const room = static_cast<std::byte*>(with.recv) + static_cast<std::size_t>(from) * block_bytes;
      (void)hocket_send(block, count, with.dtype, to, with.comm, with.options(), nullptr);
      (void)hocket_recv(room, count, with.dtype, from, with.comm, with.options(), nullptr);
    }
    return hocket_group_end(work);
  };
}

Call on_list(const Arguments& with) {
  return [with, list = tensors_of(with.what, with.place, with.send, with.recv)](hocket_work** work) {
    const hocket_tensor* const tensors = list.data();
    const std::size_t number = list.size();
    const int root = with.what.root;
    switch (with.what.collective->row) {
      case Collective::allreduce:
        return hocket_allreduce_list(tensors, number, with.op, with.comm, with.options(), work);
      case Collective::reduce:
        return hocket_reduce_list(tensors, number, with.op, root, with.comm, with.options(), work);
      case Collective::reduce_scatter:
        return hocket_reduce_scatter_list(tensors, number, with.op, with.comm, with.options(), work);
      case Collective::allgather: return hocket_allgather_list(tensors, number, with.comm, with.options(), work);
      default: return hocket_broadcast_list(tensors, number, root, with.comm, with.options(), work);
    }
  };
}

Call of_unequal_blocks(const Arguments& with) {
  return [with, blocks = block_counts(with.what, with.place.rank, with.place.size)](hocket_work** work) {
    const std::size_t* const counts = blocks.data();
    const std::size_t own = blocks[static_cast<std::size_t>(with.place.rank)];
    const auto send = with.send;
    const auto recv = with.recv;
    const auto dtype = with.dtype;
    const auto comm = with.comm;
    const int root = with.what.root;
    switch (with.what.collective->row) {
      case Collective::reduce_scatter_v:
        return hocket_reduce_scatter_v(send, recv, counts, dtype, with.op, comm, with.options(), work);
      case Collective::allgather_v:
        return hocket_allgather_v(send, own, recv, counts, nullptr, dtype, comm, with.options(), work);
      case Collective::scatter_v:
        return hocket_scatter_v(send, counts, nullptr, recv, own, dtype, root, comm, with.options(), work);
      case Collective::gather_v:
        return hocket_gather_v(send, own, recv, counts, nullptr, dtype, root, comm, with.options(), work);
      default:
        return hocket_alltoall_v(send, counts, nullptr, recv, counts, nullptr, dtype, comm, with.options(), work);
    }
  };
}

// Runs a persistent call, which `call` makes at the first time, and ends it with itself.
Call planned_once(Call call) {
  return [call = std::move(call), planned = std::shared_ptr<hocket_work>()](hocket_work**) mutable {
    if (planned == nullptr) {
      hocket_work* made = nullptr;
      if (const hocket_result result = call(&made); result != HOCKET_OK) return result;
      planned.reset(made, [](hocket_work* work) { (void)hocket_work_release(work); });
    }
    return hocket_work_run(planned.get());
  };
}

Call any_call(const Arguments& with) {
  if (with.what.tensors > 0) return on_list(with);
  switch (with.what.collective->pattern) {
    case CallPattern::neighbours: return with_neighbours(with);
    case CallPattern::any_source: return from_any(with);
    case CallPattern::group: return with_everyone(with);
    case CallPattern::one_call: break;
  }
  return with.what.collective->row->has_unequal_blocks() ? of_unequal_blocks(with) : one_call(with);
}

}  // namespace

Call prepare_call(const Case& what, Place place, hocket_comm* comm, const void* send, void* recv, void* stream) {
  const Arguments with{what,
                       place,
                       comm,
                       send,
                       recv,
                       static_cast<hocket_dtype>(what.dtype),
                       static_cast<hocket_op>(what.op),
                       std::make_shared<CallOptions>(what, stream)};
  return what.persistent ? planned_once(any_call(with)) : any_call(with);
}

}  // namespace hocket::bench
