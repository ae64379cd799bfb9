// Checks the arguments of a call before anything moves.
#pragma once

#include <string>

#include "src/comm/call_arguments.hpp"
#include "src/plan/plan.hpp"
#include "src/spi/transport.hpp"

namespace hocket::comm {

// What a call means once its arguments are known to be sound.
struct CheckedCall {
  Signature signature;  // without the algorithm
  Placement placement = Placement::out_of_place;
  std::size_t bytes = 0;  // of the larger buffer
  std::size_t input_bytes = 0;
  SharedBlocks blocks = {};
};

// How many blocks of `count` elements each buffer holds on a rank; 0: the buffer is not used there.
struct Blocks {
  std::size_t send = 0, recv = 0;
};
constexpr Blocks blocks_of(CollectiveRef collective, Rank rank, Rank root, Rank size) {
  return {collective->blocks_in(collective->input, rank, root, size),
          collective->blocks_in(collective->output, rank, root, size)};
}

// Whether a rank's call of a collective whose blocks vary lists all blocks, and not only says how large its own is.
constexpr bool lists_blocks(const CollectiveInfo& collective, Rank rank, Rank root) {
  // One buffer holds all blocks, the other this rank's, or both hold all.
  return (collective.input.held == Held::all_chunks && collective.input.is_on(rank, root)) ||
         (collective.output.held == Held::all_chunks && collective.output.is_on(rank, root));
}

// Code::invalid_argument or Code::unsupported; the message names the call and the argument and says what it should be.
Result<CheckedCall> validate(const CallArguments& arguments, Rank rank, Rank size);
// The rest of it for collectives whose blocks vary, once dtype, op, root and options are known to be sound.
Result<CheckedCall> validate_blocks(const CallArguments& arguments, Rank rank, Rank size);
// Code::invalid_argument, with the name of the call.
Status invalid(const CallArguments& arguments, const std::string& what);

}  // namespace hocket::comm
