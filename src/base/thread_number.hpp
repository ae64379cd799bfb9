// A number for each thread of the process, which no other thread has had or will have.
#pragma once

#include <cstdint>

namespace hocket {

using ThreadNumber = std::uint64_t;
inline constexpr ThreadNumber no_thread = 0;

namespace detail {
inline constexpr ThreadNumber unnumbered = ~ThreadNumber{0};
extern constinit thread_local ThreadNumber thread_number;
ThreadNumber number_thread();
}  // namespace detail

// One load of memory, but for the first time.
inline ThreadNumber this_thread_number() {
  const ThreadNumber number = detail::thread_number;
  return number != detail::unnumbered ? number : detail::number_thread();
}
// Whether this thread has it. False where it has not asked for its number yet.
inline bool is_this_thread(ThreadNumber number) {
  return number == detail::thread_number;
}

}  // namespace hocket
