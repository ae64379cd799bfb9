// A caller's own reduction while one call uses it.
#pragma once

#include "hocket/hocket.h"
#include "src/spi/transport.hpp"

namespace hocket {

class UserFunction final : public CustomKernel {
 public:
  // `rank` is this one, for messages.
  UserFunction(hocket_function function, void* context, DataType dtype, std::size_t element_bytes, Rank rank)
      : function_(function), context_(context), dtype_(dtype), element_bytes_(element_bytes), rank_(rank) {}

  // Hands on operands of any alignment. After a failure it does nothing.
  void reduce(std::byte* to, const std::byte* left, const std::byte* right, std::size_t count) override;
  // Code::aborted with what was thrown, once the function has thrown; its result must not be used then.
  const Status& failure() const { return failure_; }

 private:
  void call(std::byte* to, const std::byte* left, const std::byte* right, std::size_t count);

  hocket_function function_;
  void* context_;
  DataType dtype_;
  std::size_t element_bytes_;
  Rank rank_;
  Status failure_;
};

}  // namespace hocket
