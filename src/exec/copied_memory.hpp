// CopiedMemory: memory that an operation runs on while its contents still come from elsewhere and go back there, in
// pieces. The operation asks before it uses a range, and says when it is done with one.
#pragma once

#include <cstddef>

namespace hocket {

class CopiedMemory {
 public:
  // Whether nothing is still to be copied into these bytes; so also of memory that is not this. Once true, always.
  virtual bool has_arrived(const std::byte* data, std::size_t bytes) const = 0;
  // These bytes are what they will be at the end of the run.
  virtual void may_leave(const std::byte* data, std::size_t bytes) = 0;

 protected:
  ~CopiedMemory() = default;
};

}  // namespace hocket
