// Memory runs out at one rank, at every allocation of a call in turn: the call fails there and may be made again, or
// the communicator breaks with OUT_OF_RESOURCES on all ranks. Nothing hangs, and nothing ends a process.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "src/spi/collectives.hpp"
#include "tests/pressure/pressed_rank.hpp"

namespace hocket::pressure_testing {
namespace {

constexpr int ranks = 3;
constexpr std::size_t few = 16, many = 100'000;

class Calls : public testing::TestWithParam<Pressure> {
 protected:
  // Calls `body` in every rank, with an input and an output for `many` elements of every rank.
  template <class Body>
  static void run(Body body) {
    run_pressed(ranks, GetParam(), [&](PressedRank& rank) {
      std::vector<float> in(many * ranks, 1), out(many * ranks);
      body(rank, in.data(), out.data());
    });
  }
};

hocket_result collective(PressedRank& rank, Collective which, const float* in, float* out, std::size_t count,
                         const hocket_call_options* options = nullptr, hocket_work** work = nullptr) {
  return rank.make([&] {
    return hocket_call(static_cast<hocket_collective>(which), in, out, count, HOCKET_FLOAT32, HOCKET_SUM, 0,
                       rank.comm(), options, work);
  });
}

hocket_result wait(PressedRank& rank, hocket_work* work) {
  const hocket_result result = rank.make([&] { return hocket_work_wait(work, 0); });
  hocket_work_release(work);
  return result;
}

bool is_message(Collective which) {
  return info_of(which).is_message();
}

TEST_P(Calls, CollectivesAndTheirPlans) {
  run([](PressedRank& rank, const float* in, float* out) {
    for (const Collective which : all_collectives) {
      if (is_message(which)) continue;
      if (GetParam().shortage == Shortage::of_one && which != Collective::allreduce) continue;  // one shows the kind
      const std::string name(name_of(which));
      rank.press(name, true, [&](PressedRank& self) { return collective(self, which, in, out, few); });
      rank.press(name + " again", false, [&](PressedRank& self) { return collective(self, which, in, out, few); });
      if (testing::Test::HasFailure()) return;
    }
  });
}

TEST_P(Calls, UnequalBlocks) {
  run([](PressedRank& rank, const float* in, float* out) {
    const std::size_t counts[] = {few, 0, 3 * few}, places[] = {0, few, few};
    const auto reduced = [&](hocket_comm* comm) {
      return hocket_reduce_scatter_v(in, out, counts, HOCKET_FLOAT32, HOCKET_SUM, comm, nullptr, nullptr);
    };
    const auto exchanged = [&](hocket_comm* comm) {
      const std::size_t same[] = {few, few, few}, apart[] = {0, few, 2 * few};
      return hocket_alltoall_v(in, same, apart, out, same, apart, HOCKET_FLOAT32, comm, nullptr, nullptr);
    };
    const auto gathered = [&](hocket_comm* comm) {
      return hocket_gather_v(in, counts[rank.rank()], out, counts, places, HOCKET_FLOAT32, 0, comm, nullptr, nullptr);
    };
    for (const bool first : {true, false}) {
      rank.press("reduce_scatter_v", first,
                 [&](PressedRank& self) { return self.make([&] { return reduced(self.comm()); }); });
      rank.press("alltoall_v", first,
                 [&](PressedRank& self) { return self.make([&] { return exchanged(self.comm()); }); });
      rank.press("gather_v", first,
                 [&](PressedRank& self) { return self.make([&] { return gathered(self.comm()); }); });
    }
  });
}

TEST_P(Calls, Works) {
  run([](PressedRank& rank, const float* in, float* out) {
    for (const std::size_t count : {few, many}) {
      rank.press("a work of " + std::to_string(count), false, [&](PressedRank& self) {
        hocket_work* work = nullptr;
        const hocket_result started = collective(self, Collective::allreduce, in, out, count, nullptr, &work);
        return started == HOCKET_OK ? wait(self, work) : started;
      });
    }
  });
}

TEST_P(Calls, WaitsForAnyWork) {
  run([](PressedRank& rank, const float* in, float* out) {
    rank.press("any of two works", false, [&](PressedRank& self) {
      hocket_work* works[2] = {};
      hocket_result result = HOCKET_OK;
      for (hocket_work*& work : works) {
        float* const place = out + (&work - works) * 1000;
        if (result == HOCKET_OK) result = collective(self, Collective::allreduce, in, place, few, nullptr, &work);
      }
      std::size_t index = 0;
      if (result == HOCKET_OK) result = self.make([&] { return hocket_work_wait_any(2, works, 0, &index); });
      for (hocket_work* const work : works) {
        if (work == nullptr) continue;
        const hocket_result waited = wait(self, work);
        if (result == HOCKET_OK) result = waited;
      }
      return result;
    });
  });
}

TEST_P(Calls, PersistentCalls) {
  run([](PressedRank& rank, const float* in, float* out) {
    rank.press("a persistent call", false, [&](PressedRank& self) {
      hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
      options.persistent = 1;
      hocket_work* work = nullptr;
      hocket_result result = collective(self, Collective::allreduce, in, out, few, &options, &work);
      if (result != HOCKET_OK) return result;
      result = self.make([&] { return hocket_work_run(work); });
      if (result == HOCKET_OK) result = self.make([&] { return hocket_work_start(work); });
      if (result == HOCKET_OK) return wait(self, work);
      hocket_work_release(work);
      return result;
    });
  });
}

TEST_P(Calls, Groups) {
  run([](PressedRank& rank, const float* in, float* out) {
    rank.press("a group", false, [&](PressedRank& self) {
      return self.make([&] {
        const int next = (self.rank() + 1) % ranks, previous = (self.rank() + ranks - 1) % ranks;
        hocket_comm* const comm = self.comm();
        hocket_group_start();
        hocket_allreduce(in, out, few, HOCKET_FLOAT32, HOCKET_SUM, comm, nullptr, nullptr);
        hocket_send(in, few, HOCKET_FLOAT32, next, comm, nullptr, nullptr);
        hocket_recv(out + many, few, HOCKET_FLOAT32, previous, comm, nullptr, nullptr);
        hocket_send(in, few, HOCKET_FLOAT32, self.rank(), comm, nullptr, nullptr);
        hocket_recv(out + 2 * many, few, HOCKET_FLOAT32, self.rank(), comm, nullptr, nullptr);
        return hocket_group_end(nullptr);
      });
    });
  });
}

TEST_P(Calls, Lists) {
  run([](PressedRank& rank, const float* in, float* out) {
    rank.press("a list", false, [&](PressedRank& self) {
      const hocket_tensor tensors[] = {{in, out, few, HOCKET_FLOAT32},
                                       {in + few, out + few, 2 * few, HOCKET_FLOAT32},
                                       {in + many, out + many, many, HOCKET_FLOAT32}};
      return self.make([&] { return hocket_allreduce_list(tensors, 3, HOCKET_SUM, self.comm(), nullptr, nullptr); });
    });
  });
}

TEST_P(Calls, Messages) {
  run([](PressedRank& rank, const float* in, float* out) {
    for (const std::size_t count : {few, many}) {
      rank.press("messages of " + std::to_string(count), false, [&](PressedRank& self) {
        const int next = (self.rank() + 1) % ranks, previous = (self.rank() + ranks - 1) % ranks;
        return self.make([&] {
          return hocket_sendrecv(in, count, next, out, count, previous, HOCKET_FLOAT32, self.comm(), nullptr, nullptr);
        });
      });
      rank.press("a message of " + std::to_string(count), false, [&](PressedRank& self) {
        return self.make([&]() -> hocket_result {
          if (self.rank() == 0) return hocket_send(in, count, HOCKET_FLOAT32, 1, self.comm(), nullptr, nullptr);
          if (self.rank() == 1) return hocket_recv(out, count, HOCKET_FLOAT32, 0, self.comm(), nullptr, nullptr);
          return HOCKET_OK;
        });
      });
    }
  });
}

TEST_P(Calls, ReceivesFromAnyRank) {
  run([](PressedRank& rank, const float* in, float* out) {
    for (const bool first : {true, false}) {
      rank.press("from any rank", first, [&](PressedRank& self) {
        const auto send = [&] { return hocket_send(in, few, HOCKET_FLOAT32, 1, self.comm(), nullptr, nullptr); };
        std::int32_t source = -1;
        const auto receive = [&] {
          return hocket_recv_any(out, few, HOCKET_FLOAT32, &source, self.comm(), nullptr, nullptr);
        };
        if (self.rank() != 1) return self.make(send);
        const hocket_result one = self.make(receive);
        return one == HOCKET_OK ? self.make(receive) : one;
      });
    }
  });
}

TEST_P(Calls, DestroyingACommunicator) {
  run([](PressedRank& rank, const float* in, float* out) {
    rank.try_allocations("destroying", [&] {
      rank.renew();
      EXPECT_EQ(collective(rank, Collective::allreduce, in, out, few), HOCKET_OK);
      EXPECT_EQ(rank.under_pressure([&] { return rank.destroy(); }), HOCKET_OK);
    });
  });
}

std::vector<Pressure> pressures() {
  std::vector<Pressure> all;
  for (const char* transport : {"shm", "tcp"}) {
    for (const Shortage shortage : {Shortage::of_one, Shortage::of_rest}) all.push_back({transport, 1, shortage});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Memory, Calls, testing::ValuesIn(pressures()), testing::PrintToStringParamName());

}  // namespace
}  // namespace hocket::pressure_testing
