// What keeps wake-ups from getting lost: a store before the fence and a load after it are not exchanged.
#pragma once

#include <atomic>

namespace hocket {

inline void full_fence() {
#ifdef __SANITIZE_THREAD__  // knows no fences; a locked instruction does the same on x86
  std::atomic<int> any{0};
  any.fetch_add(1, std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace hocket
