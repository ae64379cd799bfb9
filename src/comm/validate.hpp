// Checks the arguments of a call before anything moves.
#pragma once

#include "src/comm/communicator.hpp"

namespace hocket {

// What a call means once its arguments are known to be sound.
struct CheckedCall {
  Signature signature;  // without the algorithm
  Placement placement = Placement::out_of_place;
  std::size_t bytes = 0;  // of the larger buffer
  std::size_t input_bytes = 0;
};

// Code::invalid_argument or Code::unsupported; the message names the call and the argument and says what it should be.
Result<CheckedCall> validate(const CallArguments& arguments, Rank rank, Rank size);

}  // namespace hocket
