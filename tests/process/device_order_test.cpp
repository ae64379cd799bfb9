// Messages on device memory and on the host's arrive in the order of the calls. The GPU is a double in host memory.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "tests/process/support/device_rank.hpp"
#include "tests/process/support/gate.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

// Messages on the host's memory, called later, are ready at once; in works of their own and in groups.
TEST(DeviceOrder, NothingOvertakesAMessageThatWaitsForItsStream) {
  for (const auto& [transport, in_groups] : {std::pair{"shm", false}, {"shm", true}, {"tcp", false}, {"tcp", true}}) {
    run_ranks(2, [&](Child& child) {
      ::setenv("HOCKET_TRANSPORT", transport, 1);
      DeviceRank rank;
      ASSERT_TRUE(rank);
      hocket_comm* const comm = rank.comm();
      const hocket_call_options options = rank.options();
      const auto elements = [](std::uint64_t number) { return some_elements(DataType::int32, 100, number); };
      // Each rank sends and receives on its device, then on the host, and this a few times.
      constexpr std::uint64_t turns = 3;
      Bytes sent[turns], received[turns];
      std::vector<std::unique_ptr<DeviceBuffer>> outputs, inputs;
      std::vector<hocket_work*> works;
      Gate gate(rank.gpu());
      gate.close_behind(rank.stream());
      const auto call = [&](auto function, void* data, const hocket_call_options* with) {
        hocket_work** const work = in_groups ? nullptr : &works.emplace_back();
        ASSERT_EQ(function(data, 100, HOCKET_INT32, 1 - child.index, comm, with, work), HOCKET_OK)
            << hocket_last_error();
      };
      for (std::uint64_t turn = 0; turn < turns; ++turn) {
        inputs.push_back(std::make_unique<DeviceBuffer>(rank, elements(2 * turn)));
        outputs.push_back(std::make_unique<DeviceBuffer>(rank, 400));
        sent[turn] = elements(2 * turn + 1);
        received[turn] = Bytes(400);
        if (in_groups) {
          ASSERT_EQ(hocket_group_start(), HOCKET_OK);
        }
        call(hocket_send, inputs.back()->at(), &options);
        call(hocket_send, sent[turn].data(), nullptr);
        call(hocket_recv, outputs.back()->at(), &options);
        call(hocket_recv, received[turn].data(), nullptr);
        if (in_groups) {
          ASSERT_EQ(hocket_group_end(&works.emplace_back()), HOCKET_OK) << hocket_last_error();
        }
      }
      gate.open();
      for (hocket_work* const work : works) {
        EXPECT_EQ(hocket_work_wait(work, 0), HOCKET_OK) << hocket_last_error();
        EXPECT_EQ(hocket_work_release(work), HOCKET_OK);
      }
      for (std::uint64_t turn = 0; turn < turns; ++turn) {
        EXPECT_EQ(outputs[turn]->read(), elements(2 * turn)) << turn;
        EXPECT_EQ(received[turn], elements(2 * turn + 1)) << turn;
      }
    });
  }
}

}  // namespace
}  // namespace hocket::process_testing
