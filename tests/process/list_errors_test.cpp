// What lists of tensors refuse, and what their errors name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hocket/hocket.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/tensor_list.hpp"

namespace hocket::process_testing {
namespace {

hocket_result allreduce(hocket_comm* comm, const std::vector<hocket_tensor>& list, hocket_op op = HOCKET_SUM,
                        const hocket_call_options* options = nullptr) {
  return hocket_allreduce_list(list.data(), list.size(), op, comm, options, nullptr);
}

hocket_tensor tensor(const std::vector<float>& send, std::vector<float>& recv, std::size_t first = 0,
                     std::size_t count = 10) {
  return {send.data(), recv.data() + first, count, HOCKET_FLOAT32};
}

TEST(ListErrors, NameTheTensor) {
  run_ranks(2, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    std::vector<float> a(10, 1), b(10, 1), c(20, 1);
    const float scalar = 1;
    hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
    options.scalar = &scalar;
    const auto refused = [&](const std::vector<hocket_tensor>& list, const char* message, hocket_op op = HOCKET_SUM,
                             hocket_result result = HOCKET_INVALID_ARGUMENT) {
      expect_result(allreduce(comm.get(), list, op, &options), result);
      expect_message_names(message);
    };
    const hocket_tensor good = tensor(a, a);
    refused({good, {nullptr, b.data(), 10, HOCKET_FLOAT32}}, "tensor 1 of a list: allreduce: send is null");
    refused({good, {b.data(), b.data(), SIZE_MAX / 2, HOCKET_FLOAT32}}, "tensor 1 of a list: allreduce: count");
    refused({good, tensor(c, c, 1)}, "tensor 1 of a list: allreduce: send and recv overlap");
    refused({tensor(a, c), tensor(b, b), tensor(b, c, 9)}, "overlap, and one of them is written");
    refused({good, tensor(a, b)}, "tensors 0 and 1 overlap, and one of them is written");
    refused({good, {b.data(), b.data(), 5, HOCKET_FLOAT32_INT32}},
            "tensor 1 of a list: allreduce: op sum has no meaning");
    refused({good, {b.data(), b.data(), 5, static_cast<hocket_dtype>(30)}},
            "tensor 1 of a list: allreduce: dtype is 30");
    refused({good, {b.data(), b.data(), 10, HOCKET_INT32}}, "options.scalar is one float32, but tensor 1 is of int32",
            HOCKET_PREMULTIPLIED_SUM);
    options.wire = HOCKET_WIRE_BFLOAT16;
    refused({good, {b.data(), b.data(), 10, HOCKET_INT32}}, "tensor 1 of a list: allreduce of int32, sum cannot travel",
            HOCKET_SUM, HOCKET_UNSUPPORTED);
    options.wire = HOCKET_WIRE_EXACT;
    expect_result(hocket_allreduce_list(nullptr, 2, HOCKET_SUM, comm.get(), nullptr, nullptr), HOCKET_INVALID_ARGUMENT);
    expect_message_names("tensors is null, but number is 2");
    expect_result(hocket_broadcast_list(&good, 1, 2, comm.get(), nullptr, nullptr), HOCKET_INVALID_ARGUMENT);
    expect_message_names("root is 2");
    EXPECT_EQ(a, std::vector<float>(10, 1));
    // Two that read the same are none of these, and the communicator works.
    expect_result(allreduce(comm.get(), {tensor(a, b), tensor(a, c)}), HOCKET_OK);
    EXPECT_EQ(b, std::vector<float>(10, static_cast<float>(child.size)));
  });
}

// A member of a group that is wrong makes the group fail, as any other.
TEST(ListErrors, InsideGroups) {
  run_ranks(1, [](Child&) {
    const Comm comm;
    ASSERT_TRUE(comm);
    std::vector<float> values(10, 1);
    expect_result(hocket_group_start(), HOCKET_OK);
    expect_result(hocket_allreduce_list(nullptr, 2, HOCKET_SUM, comm.get(), nullptr, nullptr), HOCKET_INVALID_ARGUMENT);
    hocket_work* work = nullptr;
    expect_result(hocket_group_end(&work), HOCKET_INVALID_ARGUMENT);
    expect_message_names("tensors is null");
    EXPECT_EQ(work, nullptr);
  });
}

// Lists of as many elements in all, cut otherwise or of other types; and one tensor that is no list. Both ranks say who
// called what.
void list_errors_expect_mismatch(const char* places, const std::vector<std::size_t>& mine,
                                 const std::vector<std::size_t>& other,
                                 const std::vector<DataType>& dtypes = {DataType::float32}) {
  run_ranks(Ranks(places), [&](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    const auto& counts = child.index == 0 ? mine : other;
    hocket_result result = HOCKET_OK;
    if (counts.empty()) {
      std::vector<float> one(30);
      result = hocket_allreduce(one.data(), one.data(), 30, HOCKET_FLOAT32, HOCKET_SUM, comm.get(), nullptr, nullptr);
    } else {
      List list({.collective = Collective::allreduce}, counts,
                child.index == 0 ? std::vector<DataType>{DataType::float32} : dtypes, child.index, child.size);
      result = list.issue(comm.get());
    }
    expect_result(result, HOCKET_MISMATCH);
    expect_message_names("of 30 float32, sum, of the list of tensors");
    const std::string message = hocket_last_error();
    for (const char* rank : {"rank 0", "rank 1"}) EXPECT_THAT(message, testing::HasSubstr(rank));
  });
}

TEST(ListErrors, RanksWithOtherListsFindOut) {
  for (const char* places : {"00", "01"}) {
    list_errors_expect_mismatch(places, {10, 20}, {20, 10});
    list_errors_expect_mismatch(places, {10, 20}, {10, 20, 0});
    list_errors_expect_mismatch(places, {10, 20, 5}, {10, 20, 5},
                                {DataType::float32, DataType::float32, DataType::int32});
    list_errors_expect_mismatch(places, {10, 20}, {});
  }
}

}  // namespace
}  // namespace hocket::process_testing
