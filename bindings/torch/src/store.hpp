// torch's store as that of Hocket.
#pragma once

#include <atomic>
#include <string>

#include "bindings/torch/src/compat.hpp"
#include "hocket/hocket.h"

namespace hocket_torch {

class SharedStore {
 public:
  explicit SharedStore(c10::intrusive_ptr<c10d::Store> store) : store_(std::move(store)) {}
  SharedStore(const SharedStore&) = delete;
  SharedStore& operator=(const SharedStore&) = delete;

  // Valid as long as this object.
  hocket_store_callbacks callbacks();
  // What torch's store threw last; empty if it did not.
  const std::string& trouble() const { return trouble_; }

 private:
  template <class Step>
  static hocket_result attempt(void* context, Step step);

  const c10::intrusive_ptr<c10d::Store> store_;
  std::atomic<bool> is_there_{false};  // the store can be looked into
  std::string trouble_;
};

}  // namespace hocket_torch
