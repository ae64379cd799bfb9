// Waking whoever may wait for what an operation has done that was over at once.
#pragma once

#include "src/base/fence.hpp"
#include "src/exec/operation.hpp"
#include "src/spi/window.hpp"

namespace hocket {

// Of an operation whose run_now() has ended it: the receiver of its message, or the other members of its window. Behind
// a full fence.
inline void wake_behind_fence(const Operation& operation) {
  if (Link* const link = operation.link_to_wake(); link != nullptr) {
    link->wake_receiver();
  } else if (Window* const window = operation.window(); window != nullptr) {
    window->wake_sleepers();
  }
}

// The same here and now.
inline void wake(const Operation& operation) {
  if (operation.link_to_wake() == nullptr && operation.window() == nullptr) return;
  full_fence();
  wake_behind_fence(operation);
}

}  // namespace hocket
