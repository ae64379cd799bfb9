#include "src/store/memory_store.hpp"
#include "tests/conformance/store_meeting_suite.hpp"

namespace hocket {
namespace {

struct MemoryBackend {
  MemoryStore store;
  Store& first() { return store; }
  Store& second() { return store; }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Memory, StoreSuite, MemoryBackend);
INSTANTIATE_TYPED_TEST_SUITE_P(Memory, StoreMeetingSuite, MemoryBackend);

}  // namespace
}  // namespace hocket
