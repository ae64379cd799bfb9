// Creation: a communicator that comes into being while its caller does other things; null where this rank gets none.
#pragma once

#include <memory>

#include "src/comm/background.hpp"
#include "src/comm/communicator.hpp"

namespace hocket::comm {

using Creation = Background<std::unique_ptr<Communicator>>;

}  // namespace hocket::comm
