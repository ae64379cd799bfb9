// What became of a message that was to start.
#pragma once

#include <cstdint>

namespace hocket {

enum class Started : std::uint8_t {
  no,         // nothing has happened
  under_way,  // it has begun, or waits for its turn; it may be over by now
  over        // it has ended well
};

}  // namespace hocket
