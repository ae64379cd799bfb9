// How failures of the seam over a GPU become the exceptions of programs.
#pragma once

#include <utility>

#include "hocket/hocket.hpp"
#include "src/spi/status.hpp"

namespace hocket::device {

inline void require(const Status& status) {
  if (!status.ok()) throw Error(static_cast<hocket_result>(status.code()), status.message());
}

template <class T>
T require(Result<T> result) {
  require(result.status());
  return std::move(result).value();
}

}  // namespace hocket::device
