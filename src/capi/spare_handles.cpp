#include "src/capi/spare_handles.hpp"

namespace hocket::capi {
namespace {

constexpr std::size_t most = 256;

// Frees what a thread has left at its end. Handles that other objects of the thread release later go where they came
// from.
struct AtThreadEnd {
  bool opened = false;

  AtThreadEnd() = default;
  ~AtThreadEnd() {
    for (spare_handles.room = most; spare_handles.first != nullptr;) ::operator delete(spare_handles.take(0));
    spare_handles.room = 0;
  }
  AtThreadEnd(const AtThreadEnd&) = delete;
  AtThreadEnd& operator=(const AtThreadEnd&) = delete;
};

thread_local AtThreadEnd at_thread_end;

}  // namespace

constinit thread_local SpareHandles spare_handles;

// There is room for the first of them; false where there was, before.
bool SpareHandles::open() noexcept {
  if (at_thread_end.opened) return false;
  at_thread_end.opened = true;
  room = most;
  return true;
}

}  // namespace hocket::capi
