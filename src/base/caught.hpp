// Caught: what an exception means where none may go further, as a status. An exception is mostly memory that ran out,
// so the statuses are made beforehand.
#pragma once

#include <string_view>

#include "src/spi/status.hpp"

namespace hocket {

class Caught {
 public:
  // For what belongs to no rank, or none that is known.
  Caught();
  explicit Caught(Rank rank);

  // Of the exception that is being handled: out_of_resources where memory ran out, else internal.
  Status status() const noexcept;

 private:
  Caught(Rank rank, std::string_view while_what, std::string_view where);

  Status out_of_memory_, defect_;
};

// For what belongs to no rank.
extern const Caught caught;

// What `body` returns, a Status or a Result; where it throws, what that means.
template <class Body>
auto caught_in(Body body) -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    return caught.status();
  }
}

}  // namespace hocket
