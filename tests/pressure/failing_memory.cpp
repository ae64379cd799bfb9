#include "tests/pressure/failing_memory.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>

namespace {

using hocket::pressure_testing::Shortage;

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
constinit std::atomic<std::int64_t> left{never};  // until one fails; never: none does
constinit std::atomic<bool> rest_fails{false};
constinit std::atomic<bool> has_failed{false};

bool fails() {
  if (left.load() == never) return false;
  const std::int64_t place = --left;
  if (place > 0 || (place < 0 && !rest_fails)) return false;
  has_failed = true;
  return true;
}

void* take(std::size_t size, std::size_t alignment) {
  const std::size_t whole = (std::max<std::size_t>(size, 1) + alignment - 1) / alignment * alignment;
  void* const taken = fails() ? nullptr : std::aligned_alloc(alignment, whole);
  if (taken == nullptr) throw std::bad_alloc();
  return taken;
}

void give(void* taken) noexcept {
  std::free(taken);
}

}  // namespace

namespace hocket::pressure_testing {

void fail_allocation(std::int64_t number, Shortage shortage) {
  rest_fails = shortage == Shortage::of_rest;
  has_failed = false;
  left = number;
}

bool stop_failing() {
  left = never;
  return has_failed;
}

}  // namespace hocket::pressure_testing

void* operator new(std::size_t size) {
  return take(size, alignof(std::max_align_t));
}
void* operator new[](std::size_t size) {
  return take(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return take(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return take(size, static_cast<std::size_t>(alignment));
}
// The standard library's own call those above; those of a sanitizer do not.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept try {
  return operator new(size);
} catch (const std::bad_alloc&) {
  return nullptr;
}
void* operator new[](std::size_t size, const std::nothrow_t& nothrow) noexcept {
  return operator new(size, nothrow);
}
void operator delete(void* taken) noexcept {
  give(taken);
}
void operator delete[](void* taken) noexcept {
  give(taken);
}
void operator delete(void* taken, std::size_t) noexcept {
  give(taken);
}
void operator delete[](void* taken, std::size_t) noexcept {
  give(taken);
}
void operator delete(void* taken, std::align_val_t) noexcept {
  give(taken);
}
void operator delete[](void* taken, std::align_val_t) noexcept {
  give(taken);
}
void operator delete(void* taken, std::size_t, std::align_val_t) noexcept {
  give(taken);
}
void operator delete[](void* taken, std::size_t, std::align_val_t) noexcept {
  give(taken);
}
