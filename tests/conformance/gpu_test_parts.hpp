// What tests of GPUs share with a peer, which is another process.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <type_traits>
#include <utility>

#include "src/base/fd.hpp"
#include "src/spi/gpu.hpp"

namespace hocket::testing_support {

// Words that a test and its peer share; make them before the peer.
class GpuTestWords {
 public:
  GpuTestWords() : memory_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {}
  ~GpuTestWords() { ::munmap(memory_, bytes); }
  GpuTestWords(const GpuTestWords&) = delete;
  GpuTestWords& operator=(const GpuTestWords&) = delete;

  static constexpr std::size_t bytes = 4096;
  void* memory() const { return memory_; }
  GpuWord& word(std::size_t number) const { return static_cast<GpuWord*>(memory_)[number]; }

 private:
  void* const memory_;
};

// Values between a test and its peer, which end with either of them.
class GpuTestPipe {
 public:
  GpuTestPipe(UniqueFd in, UniqueFd out) : in_(std::move(in)), out_(std::move(out)) {}
  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    ASSERT_EQ(::write(out_.get(), &value, sizeof value), static_cast<ssize_t>(sizeof value));
  }
  template <class T>
  T take() {
    T value{};
    if (::read(in_.get(), &value, sizeof value) != static_cast<ssize_t>(sizeof value)) ADD_FAILURE() << "no answer";
    return value;
  }

 private:
  UniqueFd in_, out_;
};

}  // namespace hocket::testing_support
