// Records as other programs read them.
#pragma once

#include <string>

#include "tools/doctor/record.hpp"

namespace hocket::doctor {

// The operations of all ranks on one time axis, as Perfetto and chrome://tracing read them (JSON).
std::string trace_of(const Group& group);

// A rank's record as the flight recorder of PyTorch dumps its own: a pickle, for torch.distributed.flight_recorder.
std::string pytorch_dump(const Group& group, const Record& record);

}  // namespace hocket::doctor
