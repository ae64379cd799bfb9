#include "src/store/memory_store.hpp"
#include "src/store/prefix_store.hpp"
#include "tests/conformance/store_suite.hpp"

namespace hocket {
namespace {

struct MemoryBackend {
  MemoryStore store;
  Store& first() { return store; }
  Store& second() { return store; }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Memory, StoreSuite, MemoryBackend);

// The bound of keys holds for prefix and key together, so the prefix here is empty; tests/unit/store has others.
struct PrefixBackend {
  MemoryStore store;
  PrefixStore one{store, ""}, two{store, ""};
  Store& first() { return one; }
  Store& second() { return two; }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Prefix, StoreSuite, PrefixBackend);

}  // namespace
}  // namespace hocket
