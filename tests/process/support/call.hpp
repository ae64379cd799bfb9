// One call of the C API with everything around it: inputs that every rank can compute, buffers between fences, and a
// plain reference that each element of the result is compared with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hocket/hocket.h"
#include "src/spi/types.hpp"
#include "tests/process/support/fenced_memory.hpp"

namespace hocket::process_testing {

inline bool is_point_to_point(Collective collective) {
  return collective == Collective::send || collective == Collective::recv;
}

enum class Values : std::uint8_t {
  exact,     // every sum and product of a few of them is exact, so the order of operations cannot matter
  rounding,  // floats and complex numbers of which another order of operations makes other bits
};

// What to call; ReduceOp::user stands for a function of the test's, commutative where `salt` is odd. `root` is the peer
// for send and recv. Salted so that no two calls of a test move the same values.
struct Case {
  Collective collective = Collective::allreduce;
  std::size_t count = 1;
  DataType dtype = DataType::float32;
  ReduceOp op = ReduceOp::sum;
  Rank root = 0;
  // Ranks may differ in the next four.
  bool in_place = false;
  std::size_t misalignment = 0;
  MemoryKind input_memory = MemoryKind::plain;  // in place: of both
  MemoryKind output_memory = MemoryKind::plain;
  Values values = Values::exact;
  std::uint64_t salt = 1;
};

std::string describe(const Case& what);

// The reductions that are defined for a type and have a meaning for the collective.
std::vector<ReduceOp> ops_of(DataType dtype, Collective collective = Collective::allreduce);

class Call {
 public:
  Call(const Case& what, Rank rank, Rank size);
  Call(Call&&) = default;  // moved buffers stay where they are

  // The result of the library's function. Buffers live as long as this object.
  hocket_result issue(hocket_comm* comm, hocket_work** work = nullptr, const hocket_call_options* options = nullptr);
  // After success: every element of the output, and that nothing else was written. The reference takes sums and
  // products in rank order.
  void expect_correct() const;
  // issue() and expect_correct().
  void run(hocket_comm* comm);
  // issue() of a reduction that is not defined for the type: the message names both, and nothing is written.
  void expect_refused(hocket_comm* comm);
  // The buffers, for calls that issue() does not make. Null: this rank has none.
  const void* send() const { return send_; }
  void* recv() const { return recv_; }
  // The output's bytes, for comparing ranks.
  std::vector<std::byte> output() const;
  // Writes over the output, so that the next issue() must write all of it. Requires that it lies apart from the input.
  void forget_output();

 private:
  void expect_output() const;
  void expect_rest_untouched() const;

  const Case what_;
  const Rank rank_, size_;
  std::size_t send_bytes_ = 0, recv_bytes_ = 0;
  FencedMemory first_;   // holds the input, and the output too where in place
  FencedMemory second_;  // holds the output otherwise
  std::byte* send_ = nullptr;
  std::byte* recv_ = nullptr;
};

// A communicator that is destroyed in time; creation that fails fails the test.
class Comm {
 public:
  explicit Comm(const hocket_comm_options* options = nullptr);
  explicit Comm(hocket_comm* made) : handle_(made) {}  // may be null
  ~Comm();
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  hocket_comm* get() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  hocket_comm* handle_ = nullptr;
};

}  // namespace hocket::process_testing
