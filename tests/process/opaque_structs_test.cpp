// Opaque elements in C++: structs that a program declares to be such.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hocket/hocket.hpp"

namespace hocket::process_testing {
namespace {

struct Particle {
  double mass = 0;
  std::int32_t heaviest = 0;
  float left = 0, right = 0;
};

void heavier(void* to, const void* left, const void* right, size_t count, hocket_dtype, void*) {
  for (size_t i = 0; i < count; ++i) {
    const Particle a = static_cast<const Particle*>(left)[i], b = static_cast<const Particle*>(right)[i];
    static_cast<Particle*>(to)[i] = {a.mass + b.mass, std::max(a.heaviest, b.heaviest), a.left, b.right};
  }
}

}  // namespace
}  // namespace hocket::process_testing

template <>
inline constexpr bool hocket::is_opaque<hocket::process_testing::Particle> = true;

namespace hocket::process_testing {
namespace {

TEST(OpaqueStructs, AreReducedAndMoved) {
  std::vector<hocket::api::Communicator> ranks = hocket::api::Communicator::create_local(1);
  std::vector<Particle> mine = {{1.5, 3, 1, 2}, {2.5, 4, 5, 6}}, all(2);
  ranks[0].allreduce(mine, all, Op::user, {.function = heavier, .commutative = false});
  EXPECT_EQ(all[1].mass, 2.5);
  ranks[0].broadcast(all, 0);
  EXPECT_EQ(all[0].heaviest, 3);
}

}  // namespace
}  // namespace hocket::process_testing
