#include "src/capi/work_handle.hpp"

namespace hocket::capi {
namespace {

constexpr std::size_t most = 256;

struct AtThreadEnd {
  bool opened = false;

  AtThreadEnd() = default;
  ~AtThreadEnd() { spare_works.close(); }
  AtThreadEnd(const AtThreadEnd&) = delete;
  AtThreadEnd& operator=(const AtThreadEnd&) = delete;
};

thread_local AtThreadEnd at_thread_end;

}  // namespace

constinit thread_local SpareWorks spare_works;

bool SpareWorks::open() noexcept {
  if (at_thread_end.opened) return false;
  at_thread_end.opened = true;
  room_ = most;
  return true;
}

void SpareWorks::close() noexcept {
  while (hocket_work* const work = first_) {
    first_ = work->next;
    delete work;
  }
  room_ = 0;
}

}  // namespace hocket::capi
