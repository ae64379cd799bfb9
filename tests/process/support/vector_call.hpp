// An allreduce of floats from one buffer to another, plain or registered, page by page one's own.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>

#include "hocket/hocket.h"
#include "tests/process/support/trap.hpp"

namespace hocket::process_testing {

enum class Memory { plain, registered };

class VectorCall {
 public:
  VectorCall(std::size_t count, Memory memory) : count_(count), memory_(memory) {
    for (Area* area : {&send_, &recv_}) {
      area->bytes = (count * sizeof(float) + page_bytes - 1) / page_bytes * page_bytes;
      if (memory == Memory::registered) {
        EXPECT_EQ(hocket_mem_alloc(&area->at, area->bytes), HOCKET_OK) << hocket_last_error();
      } else {
        area->at = ::mmap(nullptr, area->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      }
    }
    std::fill_n(static_cast<float*>(send_.at), count, 1.0F);
  }
  ~VectorCall() {
    for (const Area& area : {send_, recv_}) {
      if (memory_ == Memory::registered) {
        hocket_mem_free(area.at);
      } else {
        ::munmap(area.at, area.bytes);
      }
    }
  }
  VectorCall(const VectorCall&) = delete;
  VectorCall& operator=(const VectorCall&) = delete;

  std::byte* send() const { return static_cast<std::byte*>(send_.at); }
  std::byte* recv() const { return static_cast<std::byte*>(recv_.at); }
  std::size_t bytes() const { return send_.bytes; }

  hocket_result issue(hocket_comm* comm, hocket_work** work = nullptr,
                      const hocket_call_options* options = nullptr) const {
    return hocket_allreduce(send_.at, recv_.at, count_, HOCKET_FLOAT32, HOCKET_SUM, comm, options, work);
  }
  void expect_sum(int ranks) const {
    const auto* values = static_cast<const float*>(recv_.at);
    EXPECT_EQ(std::count(values, values + count_, static_cast<float>(ranks)), static_cast<std::ptrdiff_t>(count_));
  }

 private:
  struct Area {
    void* at = nullptr;
    std::size_t bytes = 0;
  };
  std::size_t count_;
  Memory memory_;
  Area send_, recv_;
};

}  // namespace hocket::process_testing
