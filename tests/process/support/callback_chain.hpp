// A chain of calls, each of which is begun by the function that is called when the one before is complete.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "hocket/hocket.hpp"

namespace hocket::process_testing {

// Runs `length` small allreduces, the n-th on communicator_of(n), and checks what each leaves. Returns once the last
// function has been called.
inline void run_callback_chain(int length, const std::function<Communicator&(int)>& communicator_of) {
  std::atomic<int> call{0};
  std::vector<int> mine(3), greatest(3);
  std::function<void()> begin = [&] {
    Communicator& comm = communicator_of(call);
    mine.assign(3, call + comm.rank());
    Work work = comm.allreduce_async(mine, greatest, Op::max);
    work.on_complete([&](hocket_result result) {
      EXPECT_EQ(result, HOCKET_OK);
      EXPECT_EQ(greatest, std::vector<int>(3, call + comm.size() - 1));
      const bool last = call + 1 == length;
      ++call;
      if (!last) begin();
    });
    work.release();
  };
  begin();
  while (call < length) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace hocket::process_testing
