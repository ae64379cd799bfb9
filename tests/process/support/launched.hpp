// Commands that launchers of other projects run.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/process/program.hpp"

namespace hocket {

// One small allreduce, as a rank.
constexpr char measure[] = " $BENCH allreduce -b 4 -e 4 -n 3 -c 1 ";

// What libraries of launchers do not free is no fault of Hocket's.
#if defined(__SANITIZE_ADDRESS__)
constexpr char with_sanitizers[] = "export ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0\n";
#else
constexpr char with_sanitizers[] = "";
#endif

// The command without what a launcher around this test may have set. On a busy machine, launchers may take a minute to
// start, some of them twice, and ranks another one.
inline Ran run_as_launched(const std::string& command) {
  return run_command(
      "unset RANK WORLD_SIZE MASTER_ADDR MASTER_PORT HOCKET_RANK HOCKET_WORLD_SIZE HOCKET_STORE HOCKET_SECRET PMI_RANK "
      "PMI_SIZE PMI_FD PMIX_RANK PMIX_NAMESPACE SLURM_PROCID SLURM_NTASKS SLURM_NNODES JOB_COMPLETION_INDEX\n"
      "export BENCH HOCKET_TIMEOUT_MS=60000\n" +
          std::string(with_sanitizers) + command,
      240);
}

inline void expect_measured(const Ran& ran, int ranks) {
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_THAT(ran.out, testing::HasSubstr("on " + std::to_string(ranks) + " ranks")) << ran.error;
}

inline bool is_there(const std::string& program) {
  return run_command("command -v " + program).status == 0;
}

}  // namespace hocket
