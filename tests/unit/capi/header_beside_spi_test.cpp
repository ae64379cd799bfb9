// The headers for callers and the library's own speak different languages: they may be included together.
#include <gtest/gtest.h>

#include <type_traits>

#include "hocket/creation.hpp"
#include "hocket/hocket.hpp"
#include "src/comm/communicator.hpp"
#include "src/comm/creation.hpp"
#include "src/comm/options.hpp"
#include "src/spi/schedule.hpp"
#include "src/spi/status.hpp"
#include "src/spi/store.hpp"
#include "src/spi/transport.hpp"

namespace hocket {
namespace {

TEST(HeaderBesideSpi, NamesDoNotClash) {
  static_assert(!std::is_same_v<Communicator, comm::Communicator>);
  static_assert(!std::is_same_v<Creation, comm::Creation>);
  static_assert(!std::is_same_v<Options, comm::Options>);
  const Error error(HOCKET_TIMEOUT, "late");
  const Status status(Code::timeout, "late");
  EXPECT_EQ(static_cast<int>(error.result()), static_cast<int>(status.code()));
  EXPECT_EQ(static_cast<int>(Op::prod), static_cast<int>(ReduceOp::prod));
  EXPECT_EQ(static_cast<int>(Op::maxloc), static_cast<int>(ReduceOp::maxloc));
  EXPECT_EQ(static_cast<int>(dtype_of<Float8E5M2>()), static_cast<int>(DataType::float8_e5m2));
  EXPECT_EQ(static_cast<int>(dtype_of<double>()), static_cast<int>(DataType::float64));
}

}  // namespace
}  // namespace hocket
