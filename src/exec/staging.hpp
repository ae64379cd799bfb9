// Staging: memory of an operation's own, where the caller's data does not lie as the operation needs it: in other
// places, in many pieces, or still to be multiplied.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "src/spi/types.hpp"

namespace hocket {

// Thread rule: one thread at a time.
class Staging {
 public:
  // Where the operation's buffers begin; no output_at: the output is the caller's.
  explicit Staging(std::size_t bytes, std::size_t input_at = 0, std::optional<std::size_t> output_at = {})
      : bytes_(bytes), input_at_(input_at), output_at_(output_at) {}

  // While it is made: `bytes` at `data` belong at `at` before a run, or come from there after it.
  void take(const void* data, std::size_t bytes, std::size_t at) {
    if (bytes != 0) sources_.push_back({static_cast<const std::byte*>(data), bytes, at});
  }
  void give(void* data, std::size_t bytes, std::size_t at) {
    if (bytes != 0) targets_.push_back({static_cast<std::byte*>(data), bytes, at});
  }
  // What is taken is multiplied by one element of the type, which is copied.
  void multiply_by(DataType dtype, const void* scalar);
  // What lies between the pieces is zero, not left as it is.
  void clear_gaps() { clears_gaps_ = true; }

  // The memory; without this, the first gather() takes it. Throws std::bad_alloc.
  void allocate();
  // Before each run, and after each that went well. gather(): false where memory ran out.
  bool gather();
  void scatter() const;

  std::size_t bytes() const { return bytes_; }
  bool clears_gaps() const { return clears_gaps_; }
  std::size_t input_at() const { return input_at_; }
  std::optional<std::size_t> output_at() const { return output_at_; }
  const std::byte* input() const { return memory_.get() + input_at_; }
  bool has_output() const { return output_at_.has_value(); }
  std::byte* output() const { return memory_.get() + *output_at_; }  // requires has_output()

  template <class Data>
  struct Piece {
    Data* data;  // the caller's
    std::size_t bytes, at;
  };
  std::span<const Piece<const std::byte>> sources() const { return sources_; }
  std::span<const Piece<std::byte>> targets() const { return targets_; }

 private:
  std::size_t bytes_, input_at_;
  std::optional<std::size_t> output_at_;
  std::unique_ptr<std::byte[]> memory_;
  std::vector<Piece<const std::byte>> sources_;
  std::vector<Piece<std::byte>> targets_;
  bool clears_gaps_ = false;
  bool multiplies_ = false;
  DataType dtype_ = DataType::uint8;
  std::byte scalar_[16] = {};
};

}  // namespace hocket
