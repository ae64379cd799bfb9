// The last calls of all ranks side by side, as text.
#pragma once

#include <string>

#include "tools/doctor/record.hpp"

namespace hocket::doctor {

// `colours`: for a terminal. `rows`: how many calls of each communicator.
std::string draw(const Group& group, int rows, bool colours);

}  // namespace hocket::doctor
