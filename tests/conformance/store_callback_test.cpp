#include "src/store/callback_store.hpp"
#include "src/store/memory_store.hpp"
#include "tests/conformance/store_callbacks.hpp"
#include "tests/conformance/store_meeting_suite.hpp"

namespace hocket {
namespace {

// Two stores on one caller's functions.
struct CallbackBackend {
  Store& first() { return one; }
  Store& second() { return two; }

  MemoryStore memory;
  CallbackStore one{callbacks_on(memory)}, two{callbacks_on(memory)};
};
INSTANTIATE_TYPED_TEST_SUITE_P(Callbacks, StoreSuite, CallbackBackend);
INSTANTIATE_TYPED_TEST_SUITE_P(Callbacks, StoreMeetingSuite, CallbackBackend);

}  // namespace
}  // namespace hocket
