// A limit of this process for as long as an object lives.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace hocket::process_testing {

class ResourceLimit {
 public:
  ResourceLimit(__rlimit_resource resource, rlim_t most) : resource_(resource) {
    EXPECT_EQ(::getrlimit(resource, &before_), 0);
    const rlimit now{most, before_.rlim_max};
    EXPECT_EQ(::setrlimit(resource, &now), 0);
  }
  ~ResourceLimit() { EXPECT_EQ(::setrlimit(resource_, &before_), 0); }
  ResourceLimit(const ResourceLimit&) = delete;
  ResourceLimit& operator=(const ResourceLimit&) = delete;

 private:
  const __rlimit_resource resource_;
  rlimit before_{};
};

}  // namespace hocket::process_testing
