#include "src/comm/bootstrap.hpp"

#include <gtest/gtest.h>

#include <stop_token>

#include "src/base/region_table.hpp"

namespace hocket::comm {
namespace {

hocket_result lost(void* stop) {
  static_cast<std::stop_source*>(stop)->request_stop();
  return HOCKET_STORE_UNREACHABLE;
}

// What is given up on purpose must not look as if the store had failed it.
TEST(Bootstrap, ThatIsGivenUpWhileItsStoreIsLostWasGivenUp) {
  std::stop_source stop;
  hocket_store_callbacks callbacks = HOCKET_STORE_CALLBACKS_INIT;
  callbacks.context = &stop;
  callbacks.set = [](void* context, hocket_bytes, hocket_bytes, std::int64_t) { return lost(context); };
  callbacks.get = [](void* context, hocket_bytes, std::int64_t, hocket_bytes_receiver, void*) { return lost(context); };
  callbacks.compare_and_set = [](void* context, hocket_bytes, const hocket_bytes*, hocket_bytes, std::int64_t,
                                 hocket_bytes_receiver, void*) { return lost(context); };
  callbacks.remove = [](void* context, hocket_bytes, std::int64_t) { return lost(context); };
  const RegionTable regions;
  Options options{.rank = 1, .size = 2, .callbacks = callbacks};
  options.trust.insecure = true;
  const auto made = bootstrap(options, regions, stop.get_token());
  EXPECT_TRUE(stop.stop_requested());
  EXPECT_EQ(made.status().code(), Code::aborted) << made.status().message();
}

}  // namespace
}  // namespace hocket::comm
