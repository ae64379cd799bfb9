// What became of a message that was to start.
#pragma once

#include <cstdint>

namespace hocket {

enum class Started : std::uint8_t {
  no,         // nothing has happened
  under_way,  // it runs, or waits for its turn
  over        // it has ended well
};

}  // namespace hocket
