#include "src/comm/call_key.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace hocket::comm {
namespace {

alignas(64) std::byte memory[256];

CallArguments some_call() {
  return {.collective = Collective::allreduce,
          .send = memory,
          .recv = memory + 64,
          .count = 4,
          .dtype = HOCKET_FLOAT32,
          .op = HOCKET_SUM};
}

// Of a message.
void move(CallArguments& call, std::byte* buffer) {
  if (call.collective == Collective::send) {
    call.send = buffer;
  } else {
    call.recv = buffer;
  }
}

TEST(CallKey, FitsWhereBothBuffersMovedAlike) {
  CallArguments moved = some_call();
  moved.send = memory + 128;
  moved.recv = memory + 192;
  EXPECT_TRUE(CallKey::of(some_call()).fits(moved));
}

TEST(CallKey, DiffersWithAllThatChecksAndChoicesDependOn) {
  const std::vector<std::function<void(CallArguments&)>> changes = {
      [](auto& call) { call.collective = Collective::reduce_scatter; },
      [](auto& call) { call.count = 5; },
      [](auto& call) { call.dtype = HOCKET_INT32; },
      [](auto& call) { call.op = HOCKET_MAX; },
      [](auto& call) { call.root = 1; },
      [](auto& call) { call.timeout_ms = 7; },
      [](auto& call) { call.opaque_bytes = 3; },
      [](auto& call) { call.wire = HOCKET_WIRE_BFLOAT16; },
      [](auto& call) { call.of_split = true; },
      [](auto& call) { call.in_group = true; },
      [](auto& call) { call.persistent = true; },
      [](auto& call) { call.from_any = true; },
      [](auto& call) { call.recv = memory + 68; },  // now they may overlap
      [](auto& call) { call.send = nullptr; },
      [](auto& call) { call.recv = nullptr; },
      [](auto& call) { call.send = call.recv = nullptr; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    CallArguments changed = some_call();
    changes[i](changed);
    EXPECT_FALSE(CallKey::of(some_call()).fits(changed)) << "change " << i;
  }
}

// A message is repeated from another buffer.
TEST(CallKey, FitsWhereTheOnlyBufferMoved) {
  CallArguments one = some_call(), other = some_call();
  one.send = other.send = nullptr;
  other.recv = memory + 68;
  EXPECT_TRUE(CallKey::of(one).fits(other));
}

// Two that are the same memory are another call than one alone.
TEST(CallKey, TellsNoBufferFromADistance) {
  CallArguments one = some_call(), other = some_call();
  one.send = nullptr;
  other.send = other.recv = memory;
  EXPECT_FALSE(CallKey::of(one).fits(other));
}

// Of two sends, or two receives, the shorter comparison says the same.
TEST(CallKey, FitsMessagesAsItFitsOthers) {
  const std::vector<std::function<void(CallArguments&)>> changes = {
      [](auto&) {},
      [](auto& call) { call.send = call.recv = nullptr; },
      [](auto& call) { move(call, memory + 68); },
      [](auto& call) { call.count = 5; },
      [](auto& call) { call.dtype = HOCKET_INT32; },
      [](auto& call) { call.root = 1; },
      [](auto& call) { call.timeout_ms = 7; },
      [](auto& call) { call.opaque_bytes = 3; },
      [](auto& call) { call.wire = HOCKET_WIRE_BFLOAT16; },
      [](auto& call) { call.of_split = true; },
      [](auto& call) { call.in_group = true; },
      [](auto& call) { call.persistent = true; },
      [](auto& call) { call.from_any = true; },
  };
  for (const Collective collective : {Collective::send, Collective::recv}) {
    std::vector<CallArguments> calls;
    for (const auto& change : changes) {
      CallArguments& call = calls.emplace_back(some_call());
      call.collective = collective;
      call.send = call.recv = nullptr;
      move(call, memory);
      change(call);
    }
    for (const CallArguments& one : calls) {
      EXPECT_FALSE(CallKey().fits_message(one));
      for (const CallArguments& other : calls) {
        EXPECT_EQ(CallKey::of(one).fits_message(other), CallKey::of(one).fits(other))
            << "calls " << &one - calls.data() << " and " << &other - calls.data();
      }
    }
  }
}

TEST(CallKey, IsForCallsWhoseOperationsMayBeShared) {
  CallArguments persistent = some_call(), from_any = some_call();
  persistent.persistent = true;
  from_any.from_any = true;
  EXPECT_TRUE(CallKey::may_have(some_call()));
  EXPECT_FALSE(CallKey::may_have(persistent));
  EXPECT_FALSE(CallKey::may_have(from_any));
}

}  // namespace
}  // namespace hocket::comm
