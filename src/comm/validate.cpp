#include "src/comm/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace hocket {

Blocks blocks_of(Collective collective, Rank rank, Rank root, std::size_t size) {
  const bool at_root = rank == root;
  switch (collective) {
    case Collective::allreduce: return {1, 1};
    case Collective::reduce: return {1, at_root ? 1U : 0U};
    case Collective::broadcast: return {at_root ? 1U : 0U, 1};
    case Collective::reduce_scatter: return {size, 1};
    case Collective::allgather: return {1, size};
    case Collective::scatter: return {at_root ? size : 0, 1};
    case Collective::gather: return {1, at_root ? size : 0};
    case Collective::alltoall: return {size, size};
    case Collective::send: return {1, 0};
    case Collective::recv: return {0, 1};
    case Collective::scan: return {1, 1};
    case Collective::exscan: return {1, rank == 0 ? 0U : 1U};
    default: break;  // barrier; and what has blocks that vary, see validate_blocks()
  }
  return {0, 0};
}

bool has_wire_formats(Collective collective, DataType dtype, ReduceOp op) {
  if (dtype != DataType::float32) return false;
  const Collective blocks_alike = with_equal_blocks(collective);
  const bool sums = blocks_alike == Collective::allreduce || blocks_alike == Collective::reduce_scatter;
  return sums ? op == ReduceOp::sum : blocks_alike == Collective::allgather;
}

namespace {

Status check_reduction(const CallArguments& arguments) {
  const auto dtype = static_cast<DataType>(arguments.dtype);
  const auto op = static_cast<ReduceOp>(arguments.op);
  if (arguments.op < 0 || arguments.op > 255 || std::ranges::find(all_reduce_ops, op) == all_reduce_ops.end()) {
    return invalid(arguments, fmt::format("op is {}, which is no hocket_op", arguments.op));
  }
  if (!reduces(arguments.collective)) return {};
  if (!is_defined(arguments.collective, op)) {
    return invalid(arguments, fmt::format("op {} of {} has no meaning for a prefix: ask for sum, and divide what "
                                          "each rank gets by the number that belongs to it",
                                          name_of(op), name_of(dtype)));
  }
  if (op == ReduceOp::user && arguments.function == nullptr) {
    return invalid(arguments, "options.function is null; HOCKET_USER needs the function that combines two operands");
  }
  if (is_defined(dtype, op)) {
    if (op != ReduceOp::premultiplied_sum || arguments.scalar != nullptr) return {};
    return invalid(
        arguments,
        fmt::format("options.scalar is null; HOCKET_PREMULTIPLIED_SUM needs one {} to multiply by", name_of(dtype)));
  }
  std::string types;
  for (const DataType other : all_data_types) {
    if (is_defined(other, op)) types += fmt::format("{}{}", types.empty() ? "" : ", ", name_of(other));
  }
  return invalid(arguments, fmt::format("op {} has no meaning for dtype {}; it is defined for {}", name_of(op),
                                        name_of(dtype), types));
}

Status check_scalars(const CallArguments& arguments, Rank rank, Rank size) {
  if (size_of(static_cast<DataType>(arguments.dtype)) == 0 || arguments.dtype < 0 || arguments.dtype > 255) {
    return invalid(arguments, fmt::format("dtype is {}, which is no hocket_dtype", arguments.dtype));
  }
  if (Status status = check_reduction(arguments); !status.ok()) return status;
  const bool to_peer = arguments.collective == Collective::send || arguments.collective == Collective::recv;
  if (arguments.from_any && size == 1 && !arguments.in_group) {
    return invalid(arguments, "a rank that is alone can receive only what it sends itself, in one group with it");
  }
  if (arguments.from_any && arguments.persistent) {
    return {Code::unsupported, "recv: a receive from any rank cannot be persistent; call it for each message"};
  }
  const bool names_rank = has_root(arguments.collective) || (to_peer && !arguments.from_any);
  if (names_rank && (arguments.root < 0 || arguments.root >= size)) {
    return invalid(arguments, fmt::format("{} is {}; with {} ranks it must be 0 … {}", to_peer ? "peer" : "root",
                                          arguments.root, size, size - 1));
  }
  if (to_peer && !arguments.from_any && arguments.root == rank && !arguments.in_group) {
    return invalid(arguments, fmt::format("peer is {}, this very rank; a message to oneself needs sendrecv, or a group "
                                          "that holds both its send and its receive",
                                          rank));
  }
  if (arguments.timeout_ms < 0) {
    return invalid(arguments, fmt::format("options.timeout_ms is {}; it must be positive, or 0 for the communicator's",
                                          arguments.timeout_ms));
  }
  return {};
}

Status check_wire(const CallArguments& arguments) {
  if (arguments.wire == HOCKET_WIRE_EXACT) return {};
  if (arguments.wire < 0 || arguments.wire > HOCKET_WIRE_INT8_BLOCKS) {
    return invalid(arguments, fmt::format("options.wire is {}, which is no hocket_wire", arguments.wire));
  }
  const auto dtype = static_cast<DataType>(arguments.dtype);
  const auto op = static_cast<ReduceOp>(arguments.op);
  if (has_wire_formats(arguments.collective, dtype, op)) return {};
  return {Code::unsupported,
          fmt::format("{} of {}{} cannot travel as {}: that is for allreduce and reduce_scatter with sum, and for "
                      "allgather, of float32; leave options.wire at HOCKET_WIRE_EXACT",
                      name_of(arguments.collective), name_of(dtype),
                      reduces(arguments.collective) ? fmt::format(", {}", name_of(op)) : "",
                      name_of(static_cast<WireFormat>(arguments.wire)))};
}

// The argument that hocket.h calls so.
std::string_view name_of_count(Collective collective) {
  if (collective == Collective::reduce_scatter || collective == Collective::scatter) return "recvcount";
  if (collective == Collective::allgather || collective == Collective::gather) return "sendcount";
  return "count";
}

// Where the smaller buffer must start, in bytes from the start of the larger, to count as in place.
std::size_t in_place_offset(Collective collective, Rank rank, std::size_t block_bytes) {
  const bool by_block = collective == Collective::reduce_scatter || collective == Collective::allgather ||
                        collective == Collective::scatter || collective == Collective::gather;
  return by_block ? static_cast<std::size_t>(rank) * block_bytes : 0;
}

Result<Placement> placement_of(const CallArguments& arguments, const Blocks& blocks, std::size_t block_bytes,
                               Rank rank) {
  if (blocks.send == 0 || blocks.recv == 0 || block_bytes == 0) return Placement::out_of_place;
  const auto send = reinterpret_cast<std::uintptr_t>(arguments.send);
  const auto recv = reinterpret_cast<std::uintptr_t>(arguments.recv);
  if (send + blocks.send * block_bytes <= recv || recv + blocks.recv * block_bytes <= send) {
    return Placement::out_of_place;
  }
  const std::size_t offset = in_place_offset(arguments.collective, rank, block_bytes);
  const bool send_is_larger = blocks.send > blocks.recv;
  const bool in_place = send_is_larger ? recv == send + offset : send == recv + offset;
  if (in_place) return Placement::in_place;
  return invalid(arguments, fmt::format("send and recv overlap but not as in place: {} must be {} + {} bytes",
                                        send_is_larger ? "recv" : "send", send_is_larger ? "send" : "recv", offset));
}

}  // namespace

Status invalid(const CallArguments& arguments, const std::string& what) {
  return {Code::invalid_argument, fmt::format("{}: {}", name_of(arguments.collective), what)};
}

Result<CheckedCall> validate(const CallArguments& arguments, Rank rank, Rank size) {
  if (Status status = check_scalars(arguments, rank, size); !status.ok()) return status;
  if (Status status = check_wire(arguments); !status.ok()) return status;
  if (is_uneven(arguments.collective)) return validate_blocks(arguments, rank, size);
  const auto dtype = static_cast<DataType>(arguments.dtype);
  const Collective collective = arguments.collective;
  const bool to_peer = collective == Collective::send || collective == Collective::recv;
  const Blocks blocks = blocks_of(collective, rank, arguments.root, static_cast<std::size_t>(size));
  // Checked against the larger buffer of any rank, so that all ranks refuse alike.
  const bool blockwise = !Layout::is_vector(collective);
  const std::size_t blocks_max = blockwise ? static_cast<std::size_t>(size) : 1;
  if (arguments.count > static_cast<std::size_t>(PTRDIFF_MAX) / size_of(dtype) / blocks_max) {
    return invalid(arguments, fmt::format("{} {} is too large: {} × {} bytes do not fit in memory",
                                          name_of_count(collective), arguments.count, blocks_max, name_of(dtype)));
  }
  const std::size_t block_bytes = arguments.count * size_of(dtype);
  if (blocks.send != 0 && block_bytes != 0 && arguments.send == nullptr) {
    return invalid(arguments, fmt::format("send is null, but {} is {}", name_of_count(collective), arguments.count));
  }
  if (blocks.recv != 0 && block_bytes != 0 && arguments.recv == nullptr) {
    return invalid(arguments, fmt::format("recv is null, but {} is {}", name_of_count(collective), arguments.count));
  }
  const auto placement = placement_of(arguments, blocks, block_bytes, rank);
  if (!placement.ok()) return placement.status();

  CheckedCall call;
  call.placement = *placement;
  call.bytes = block_bytes * blocks_max;
  call.input_bytes = block_bytes * blocks.send;
  call.signature = {.collective = to_peer ? Collective::send : collective,  // both ends name the same call
                    .dtype = dtype,
                    .op = reduces(collective) ? static_cast<ReduceOp>(arguments.op) : ReduceOp::sum,
                    .algorithm = static_cast<std::uint8_t>(arguments.wire << Signature::algorithm_bits),
                    .root = collective == Collective::send    ? rank
                            : has_root(collective) || to_peer ? arguments.root
                            : arguments.of_split              ? no_rank
                                                              : 0,
                    .count = arguments.count};
  if (collective == Collective::barrier) call.signature.count = 1;  // one byte, see Schedule
  return call;
}

}  // namespace hocket
