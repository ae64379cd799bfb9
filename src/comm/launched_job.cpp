#include "src/comm/launched_job.hpp"

#include <fmt/format.h>
#include <sys/types.h>
#include <unistd.h>

#include <string_view>

#include "src/base/environment.hpp"
#include "src/base/file_contents.hpp"
#include "src/base/words.hpp"
#include "src/comm/host_list.hpp"

namespace hocket::comm {
namespace {

struct Process {
  pid_t id = 0, parent = 0;
  std::string start_time;  // in ticks since the host started: tells a process from a later one with the same number
};

Process process(pid_t id) {
  Process found{.id = id};
  const std::string text = file_contents(fmt::format("/proc/{}/stat", id)).value_or("");
  Words fields(std::string_view(text).substr(std::min(text.size(), text.rfind(')') + 1)));
  fields.skip(1);  // proc(5): the third
  found.parent = fields.number<pid_t>();
  fields.skip(17);
  found.start_time = fields.word();
  return found;
}

// Whether the process was started with the variable. One that may not be looked at belongs to another user, as daemons
// do, and is no rank.
bool has_variable(pid_t id, std::string_view name) {
  const std::string wanted = '\0' + std::string(name) + '=';
  const std::string variables = file_contents(fmt::format("/proc/{}/environ", id)).value_or("");
  return ('\0' + variables).find(wanted) != std::string::npos;
}

// The nearest ancestor that is not part of a rank: shells and wrappers between it and this process have the rank, too.
Process launcher(std::string_view variable) {
  Process found = process(::getppid());
  while (found.parent > 0 && has_variable(found.id, variable)) found = process(found.parent);
  return found;
}

bool is_number(const environment::Variable& variable, std::int64_t wanted) {
  return variable.value == std::to_string(wanted);
}

std::optional<environment::Variable> rank_variable() {
  return environment::find({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"});
}

bool is_on_one_host(Rank size) {
  const auto here = environment::find({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"});
  if (here) return is_number(*here, size);
  const auto hosts = environment::find({"SLURM_STEP_NUM_NODES", "SLURM_NNODES"});
  return !hosts || is_number(*hosts, 1);
}

}  // namespace

std::optional<LaunchedJob> launched_job(Rank rank, Rank size) {
  const auto variable = rank_variable();
  if (!variable || !is_number(*variable, rank)) return std::nullopt;
  const Process by = launcher(variable->name);
  LaunchedJob job{.key = fmt::format("ranks started by process {}, begun at tick {}", by.id, by.start_time),
                  .one_host = is_on_one_host(size)};
  // A launcher may run several jobs.
  for (const char* name : {"PMIX_NAMESPACE", "PMI_JOBID", "SLURM_JOB_ID", "SLURM_STEP_ID"}) {
    if (const auto id = environment::find({name})) job.key += fmt::format(", {} {}", name, id->value);
  }
  return job;
}

bool is_on_several_hosts(Rank rank, Rank size) {
  if (const auto variable = rank_variable(); variable && is_number(*variable, rank)) return !is_on_one_host(size);
  if (is_in_indexed_job(rank)) return size > 1;
  const auto own = environment::find({"RANK"}), here = environment::find({"LOCAL_WORLD_SIZE"});
  return own && here && is_number(*own, rank) && size > 1 && environment::to_integer(*here, 1, size - 1).ok();
}

Status expect_no_newcomer() {
  const auto newcomer = environment::find({"HOCKET_NEWCOMER"});
  if (!newcomer) return {};
  const auto is_one = environment::to_switch(*newcomer);
  if (!is_one.ok()) return is_one.status();
  if (!*is_one) return {};
  return {Code::invalid_environment,
          "this process is a newcomer (HOCKET_NEWCOMER is set), so it has no rank: let it join the others by "
          "hocket_comm_join, or fill in options.rank and options.world_size"};
}

}  // namespace hocket::comm
