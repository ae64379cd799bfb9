// What a caller asks for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hocket/hocket.h"
#include "src/spi/status.hpp"
#include "src/spi/types.hpp"

namespace hocket::comm {

// How large the blocks are and where they begin, in elements, by rank; read during the call. Null: not used by this
// collective, and displacements: one block behind the other.
struct BlockArguments {
  const std::size_t* send_counts = nullptr;
  const std::size_t* send_displacements = nullptr;
  const std::size_t* recv_counts = nullptr;
  const std::size_t* recv_displacements = nullptr;
};

// The arguments of one call, unchecked. What calls are compared by (CallKey) stands side by side.
struct CallArguments {
  Collective collective = Collective::barrier;
  const void* send = nullptr;
  void* recv = nullptr;
  std::size_t count = 0;  // of collectives whose blocks vary: of the one block that is this rank's, where there is one
  int dtype = HOCKET_UINT8;
  int op = HOCKET_SUM;
  Rank root = 0;                 // or the peer of a send or recv
  std::int64_t timeout_ms = 0;   // 0: the communicator's
  std::size_t opaque_bytes = 0;  // of one element, where these are opaque
  int wire = HOCKET_WIRE_EXACT;
  bool of_split = false;    // the library's own exchange, see SignatureKind
  bool in_group = false;    // a message may go to this very rank
  bool persistent = false;  // prepared for runs to come, each of which Operation::restart() begins
  bool from_any = false;    // a receive from any rank, whose `root` means nothing
  bool commutative = false;
  const void* scalar = nullptr;
  hocket_function function = nullptr;
  void* context = nullptr;
  BlockArguments blocks = {};
  void* stream = nullptr;          // where data lies on a GPU: the stream that orders it
  std::int32_t* source = nullptr;  // of a receive from any rank: where to put the rank that sent; null: nowhere
};

// A send or a receive.
constexpr bool is_message(const CallArguments& arguments) {
  return arguments.collective == Collective::send || arguments.collective == Collective::recv;
}

// Of one of these: the buffer that it has.
inline const void* buffer_of(const CallArguments& message) {
  return message.collective == Collective::send ? message.send : message.recv;
}

// In place of a call's result: it is not like the one before, and nothing has happened.
inline constexpr Code another_call = Code::in_progress;

// Bytes of one element of a call whose dtype is known to be one.
inline std::size_t size_of_element(const CallArguments& arguments) {
  return size_of(static_cast<DataType>(arguments.dtype), arguments.opaque_bytes);
}

// As signatures have it: 0 where elements are not opaque.
inline std::uint16_t opaque_bytes_of(const CallArguments& arguments) {
  const bool opaque = static_cast<DataType>(arguments.dtype) == DataType::opaque;
  return opaque ? static_cast<std::uint16_t>(arguments.opaque_bytes) : std::uint16_t{0};
}

}  // namespace hocket::comm
