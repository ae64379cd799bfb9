#include "src/comm/validate.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace hocket::comm {
namespace {

Status check_reduction(const CallArguments& arguments) {
  const auto dtype = static_cast<DataType>(arguments.dtype);
  const auto op = static_cast<ReduceOp>(arguments.op);
  const ReduceOpInfo& info = info_of(op);
  if (arguments.op < 0 || arguments.op > 255 || !is_known(op)) {
    return invalid(arguments, fmt::format("op is {}, which is not a hocket_op", arguments.op));
  }
  if (!info_of(arguments.collective).reduces()) return {};
  if (!is_defined(arguments.collective, op)) {
    return invalid(arguments, fmt::format("op {} of {} has no meaning for a prefix: {}", name_of(op), name_of(dtype),
                                          info.instead_of_prefix));
  }
  if (info.takes == Takes::function && arguments.function == nullptr) {
    return invalid(arguments, "options.function is null; HOCKET_USER needs the function that combines two operands");
  }
  if (is_defined(dtype, op)) {
    if (info.takes != Takes::scalar || arguments.scalar != nullptr) return {};
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
  if (arguments.dtype < 0 || arguments.dtype > 255 || !is_known(static_cast<DataType>(arguments.dtype))) {
    return invalid(arguments, fmt::format("dtype is {}, which is not a hocket_dtype", arguments.dtype));
  }
  const bool opaque = static_cast<DataType>(arguments.dtype) == DataType::opaque;
  if (opaque && (arguments.opaque_bytes == 0 || arguments.opaque_bytes > element_bytes_max)) {
    return invalid(arguments, fmt::format("options.element_bytes is {}; HOCKET_OPAQUE needs the bytes of one element, "
                                          "1 … {}",
                                          arguments.opaque_bytes, element_bytes_max));
  }
  if (Status status = check_reduction(arguments); !status.ok()) return status;
  const CollectiveInfo& collective = info_of(arguments.collective);
  const bool to_peer = collective.is_message();
  if (arguments.from_any && size == 1 && !arguments.in_group) {
    return invalid(arguments, "a rank that is alone can receive only what it sends itself, in one group with it");
  }
  if (arguments.from_any && arguments.persistent) {
    return {Code::unsupported, "recv: a receive from any rank cannot be persistent; call it for each message"};
  }
  const bool names_rank = collective.takes_root() && !arguments.from_any;
  if (names_rank && (arguments.root < 0 || arguments.root >= size)) {
    return invalid(arguments, fmt::format("{} is {}; with {} ranks it must be 0 … {}", to_peer ? "peer" : "root",
                                          arguments.root, size, size - 1));
  }
  if (to_peer && !arguments.from_any && arguments.root == rank && !arguments.in_group) {
    return invalid(arguments,
                   fmt::format("peer is {}, which is this rank; a message to itself needs sendrecv, or a group "
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
  if (arguments.wire < 0 || arguments.wire > 255 || !is_known(static_cast<WireFormat>(arguments.wire))) {
    return invalid(arguments, fmt::format("options.wire is {}, which is not a hocket_wire", arguments.wire));
  }
  const auto dtype = static_cast<DataType>(arguments.dtype);
  const auto op = static_cast<ReduceOp>(arguments.op);
  if (has_wire_formats(arguments.collective, dtype, op)) return {};
  return {Code::unsupported,
          fmt::format("{} of {}{} cannot travel as {}: that is for {}; leave options.wire at HOCKET_WIRE_EXACT",
                      name_of(arguments.collective), name_of(dtype),
                      info_of(arguments.collective).reduces() ? fmt::format(", {}", name_of(op)) : "",
                      name_of(static_cast<WireFormat>(arguments.wire)), describe_wire_calls())};
}

Result<Placement> placement_of(const CallArguments& arguments, const Blocks& blocks, std::size_t block_bytes,
                               Rank rank) {
  if (blocks.send == 0 || blocks.recv == 0 || block_bytes == 0) return Placement::out_of_place;
  const auto send = reinterpret_cast<std::uintptr_t>(arguments.send);
  const auto recv = reinterpret_cast<std::uintptr_t>(arguments.recv);
  if (send + blocks.send * block_bytes <= recv || recv + blocks.recv * block_bytes <= send) {
    return Placement::out_of_place;
  }
  const std::size_t offset = info_of(arguments.collective).block_in_place(rank) * block_bytes;
  const bool send_is_larger = blocks.send > blocks.recv;
  const bool in_place = send_is_larger ? recv == send + offset : send == recv + offset;
  if (in_place) return Placement::in_place;
  const auto wanted = offset == 0 ? "send and recv must be equal"
                                  : fmt::format("{} must be {} + {} bytes", send_is_larger ? "recv" : "send",
                                                send_is_larger ? "send" : "recv", offset);
  return invalid(arguments, fmt::format("send and recv overlap but not as in place: {}", wanted));
}

SignatureKind signature_kind(const CallArguments& arguments) {
  if (arguments.collective == Collective::send) return SignatureKind::send;
  if (arguments.collective == Collective::recv) return SignatureKind::receive;
  return arguments.of_split ? SignatureKind::split : SignatureKind::collective;
}

// Both ends of a message name the rank that sends it.
Rank root_of(const CallArguments& arguments, Rank rank) {
  if (arguments.collective == Collective::send) return rank;
  return info_of(arguments.collective).takes_root() ? arguments.root : 0;
}

}  // namespace

Status invalid(const CallArguments& arguments, const std::string& what) {
  return {Code::invalid_argument, fmt::format("{}: {}", name_of(arguments.collective), what)};
}

Result<CheckedCall> validate(const CallArguments& arguments, Rank rank, Rank size) {
  if (Status status = check_scalars(arguments, rank, size); !status.ok()) return status;
  if (Status status = check_wire(arguments); !status.ok()) return status;
  const CollectiveInfo& collective = info_of(arguments.collective);
  const Blocks blocks = blocks_of(collective, rank, arguments.root, size);
  if (collective.has_unequal_blocks()) return validate_blocks(arguments, rank, size);
  const auto dtype = static_cast<DataType>(arguments.dtype);
  const std::size_t element_bytes = size_of_element(arguments);
  // Checked against the larger buffer of any rank, so that all ranks refuse alike.
  const std::size_t blocks_max = collective.is_vector() ? 1 : static_cast<std::size_t>(size);
  if (arguments.count > static_cast<std::size_t>(PTRDIFF_MAX) / element_bytes / blocks_max) {
    return invalid(arguments, fmt::format("{} {} is too large: {} × {} bytes do not fit in memory",
                                          collective.count_name, arguments.count, blocks_max, name_of(dtype)));
  }
  const std::size_t block_bytes = arguments.count * element_bytes;
  if (blocks.send != 0 && block_bytes != 0 && arguments.send == nullptr) {
    return invalid(arguments, fmt::format("send is null, but {} is {}", collective.count_name, arguments.count));
  }
  if (blocks.recv != 0 && block_bytes != 0 && arguments.recv == nullptr) {
    return invalid(arguments, fmt::format("recv is null, but {} is {}", collective.count_name, arguments.count));
  }
  const auto placement = placement_of(arguments, blocks, block_bytes, rank);
  if (!placement.ok()) return placement.status();

  CheckedCall call;
  call.placement = *placement;
  call.bytes = block_bytes * blocks_max;
  call.input_bytes = block_bytes * blocks.send;
  const bool reduces = collective.reduces();
  call.signature = {.kind = signature_kind(arguments),
                    .collective = arguments.collective,
                    .dtype = dtype,
                    .op = reduces ? static_cast<ReduceOp>(arguments.op) : ReduceOp::sum,
                    .wire = static_cast<WireFormat>(arguments.wire),
                    .opaque_bytes = opaque_bytes_of(arguments),
                    .root = root_of(arguments, rank),
                    .count = arguments.count};
  if (collective.chunks == Chunks::token) call.signature.count = 1;
  return call;
}

}  // namespace hocket::comm
