// What the launchers of MPI and Slurm tell their processes about a job, besides rank and size.
#pragma once

#include <optional>
#include <string>

#include "src/spi/status.hpp"
#include "src/spi/types.hpp"

namespace hocket::comm {

struct LaunchedJob {
  std::string key;       // equal on all its ranks of this host, and on no rank of another job that runs here now
  bool one_host = true;  // as far as the launcher tells
};

// The job that this process belongs to as that rank. Nothing where no launcher has started it so.
std::optional<LaunchedJob> launched_job(Rank rank, Rank size);
// Whether the launcher that has started this process as that rank, torchrun among them, says that others of its job are
// on other hosts.
bool is_on_several_hosts(Rank rank, Rank size);

// Code::invalid_environment where HOCKET_NEWCOMER says that this process is to join others, and so has no rank.
Status expect_no_newcomer();

}  // namespace hocket::comm
