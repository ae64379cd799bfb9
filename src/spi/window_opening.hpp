// WindowOpening: a window on its way, which all its members open together. Nothing here blocks.
//
// Thread rule: as Transport, whose progress() it needs.
#pragma once

#include <memory>

#include "src/spi/status.hpp"
#include "src/spi/types.hpp"
#include "src/spi/window.hpp"

namespace hocket {

class WindowOpening {
 public:
  virtual ~WindowOpening() = default;

  // Goes on with what has come, until it gives the window; null: that is not open yet. A failure is the end, and the
  // other members hear of it.
  virtual Result<std::unique_ptr<Window>> advance() = 0;
  // Whether that failure is the word of a member that it cannot take part, which every member hears: so none gets a
  // window, and nothing else has happened.
  virtual bool is_refused() const = 0;
  // Whether the window cannot open any more when this rank ends now.
  virtual bool needs(Rank rank) const = 0;
  // Who holds it up. `certain`: this member sees that; otherwise it may be one that waits itself.
  struct Missing {
    Rank rank = no_rank;
    bool certain = false;
  };
  virtual Missing missing() const = 0;
  // Ends it before it has come to an end by itself. Returns `why` as the other members are told.
  virtual Status give_up(const Status& why) = 0;
};

}  // namespace hocket
