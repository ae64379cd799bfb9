#include "src/base/thread_number.hpp"

#include <atomic>

namespace hocket::detail {
namespace {

constinit std::atomic<ThreadNumber> latest{no_thread};

}  // namespace

constinit thread_local ThreadNumber thread_number = unnumbered;

ThreadNumber number_thread() {
  return thread_number = ++latest;
}

}  // namespace hocket::detail
