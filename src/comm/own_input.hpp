// Inputs that the library keeps a copy of while a call runs.
#pragma once

#include "src/comm/validate.hpp"
#include "src/exec/operation.hpp"

namespace hocket::comm {

// Each rank's input is multiplied before it is combined: into memory of the operation's own, so that everything after
// is a sum as any other.
void scale_input(const CallArguments& arguments, CheckedCall& checked, Binding& binding);

// Alltoall in place: what a rank receives first may have to lie where it still sends from, whatever the order. So the
// input is copied, block behind block, and the rest is out of place.
void copy_input(CheckedCall& checked, Binding& binding);

}  // namespace hocket::comm
