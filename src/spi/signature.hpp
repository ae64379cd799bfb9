// Signature: the call that a message or an announcement belongs to, in clear, so that a mismatch can name both sides.
// What both ends must agree on, in fields of which each means one thing; it travels as it lies in memory.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "src/spi/types.hpp"

namespace hocket {

// What a call is to the ranks that make it.
enum class SignatureKind : std::uint8_t {
  collective,
  list,     // a collective on a list of tensors
  split,    // the library's own exchange for a split, duplicate or subset
  send,     // what a message carries, and its sender calls
  receive,  // what the other end calls
};
inline constexpr std::uint8_t signature_kinds = 5;

struct Signature {
  SignatureKind kind = SignatureKind::collective;
  Collective collective = Collective::barrier;
  DataType dtype = DataType::uint8;
  ReduceOp op = ReduceOp::sum;  // sum where nothing is reduced
  WireFormat wire = WireFormat::exact;
  std::uint8_t reserved = 0;
  std::uint16_t opaque_bytes = 0;  // of an element, where elements are opaque; else 0
  std::uint32_t algorithm = 0;     // id_of() it, so that ranks which chose differently find out
  Rank root = 0;                   // 0 where there is none; of a message: the rank that sends it
  // Elements, as the C API counts them; of allgather_v and reduce_scatter_v: of all blocks. Of scatter_v, gather_v and
  // alltoall_v: of the block that a message brings, since only its two ends know it, and unknown_count elsewhere.
  std::uint64_t count = 0;
  std::uint64_t digest = 0;  // of the list; of allgather_v and reduce_scatter_v: of all counts; else 0

  static constexpr std::uint64_t unknown_count = UINT64_MAX;

  friend constexpr bool operator==(const Signature& left, const Signature& right) {
    using Words = std::array<std::uint64_t, 4>;
    const auto a = std::bit_cast<Words>(left), b = std::bit_cast<Words>(right);
    return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3])) == 0;
  }
};
static_assert(sizeof(Signature) == 32 && std::has_unique_object_representations_v<Signature>);

// A send or a receive, and not a part of a collective.
constexpr bool is_message(const Signature& call) {
  return call.kind == SignatureKind::send || call.kind == SignatureKind::receive;
}

// Bytes of one element.
constexpr std::size_t size_of(const Signature& call) {
  return size_of(call.dtype, call.opaque_bytes);
}

// The other end's name for a receive, or for a send; anything else is called alike at both ends.
constexpr Signature as_sent(Signature call) {
  if (call.kind != SignatureKind::receive) return call;
  call.kind = SignatureKind::send;
  call.collective = Collective::send;
  return call;
}
constexpr Signature as_received(Signature call) {
  if (call.kind != SignatureKind::send) return call;
  call.kind = SignatureKind::receive;
  call.collective = Collective::recv;
  return call;
}

// "float32", or "opaque elements of 24 bytes".
std::string describe_type(DataType dtype, std::size_t element_bytes);
// "allreduce of 1024 float32, sum" and so on, for messages.
std::string describe(const Signature& signature);
// "allreduce, reduce_scatter … of float32, with sum where they reduce": the calls that may have lower precision.
std::string describe_wire_calls();

}  // namespace hocket
