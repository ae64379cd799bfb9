// Descriptors that run out are reported as that.
#include <sys/resource.h>

#include <string>
#include <utility>

#include "tests/process/program.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

void leave_descriptors(std::size_t count) {
  const auto room = static_cast<rlim_t>(open_descriptors() + count);
  const rlimit limit{room, room};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
}

// Links that ran out of descriptors are no dead ranks.
TEST(FewDescriptors, AreWhatEveryRankReports) {
  for (const auto& [transport, left] : {std::pair{"auto", 12u}, {"tcp", 8u}, {"shm", 12u}}) {
    SCOPED_TRACE(transport);
    const TemporaryFolder folder;  // for a store that takes no descriptors of rank 0
    run_ranks(12, [&, transport = transport, left = left](Child&) {
      ::setenv("HOCKET_STORE", ("file://" + folder.file("store")).c_str(), 1);
      ::setenv("HOCKET_TRANSPORT", transport, 1);
      ::setenv("HOCKET_ALGORITHM", "linear", 1);
      leave_descriptors(left);
      hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
      options.timeout_ms = 20'000;
      hocket_comm* comm = nullptr;
      hocket_result result = hocket_comm_create(&comm, &options);
      float value = 1;
      if (result == HOCKET_OK) {
        result = hocket_allreduce(&value, &value, 1, HOCKET_FLOAT32, HOCKET_SUM, comm, nullptr, nullptr);
      }
      expect_result(result, HOCKET_OUT_OF_RESOURCES);
      expect_message_names("ulimit -n");
      hocket_comm_destroy(comm);
    });
  }
}

// Rank 0 serves a store, and has too few for itself, or for its clients, or for its links after that. Nobody waits for
// those that cannot come.
TEST(FewDescriptors, OfTheRankThatServesAStoreAreWhatEveryRankReports) {
  for (const char* transport : {"auto", "tcp", "shm"}) {
    for (const std::size_t left : {7, 10, 13, 18}) {
      SCOPED_TRACE(std::string(transport) + ", " + std::to_string(left) + " descriptors are left");
      run_ranks(8, [&](Child& child) {
        ::setenv("HOCKET_TRANSPORT", transport, 1);
        if (child.index == 0) leave_descriptors(left);
        hocket_comm* comm = nullptr;
        expect_result(hocket_comm_create(&comm, nullptr), HOCKET_OUT_OF_RESOURCES);
        expect_message_names("ulimit -n");
        hocket_comm_destroy(comm);
      });
    }
  }
}

}  // namespace
}  // namespace hocket::process_testing
