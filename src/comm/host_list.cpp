#include "src/comm/host_list.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "src/base/environment.hpp"
#include "src/base/file_contents.hpp"
#include "src/base/words.hpp"

namespace hocket::comm {
namespace {

constexpr std::uint16_t port_of_pods = 29500;  // a pod has all ports to itself
constexpr std::string_view letters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";  // of a host's name

std::string own_host_name() {
  char name[256] = "";
  (void)::gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace

std::optional<std::string> first_host(std::string_view list) {
  std::string host;
  while (!list.empty() && list.front() != ',') {
    if (list.front() != '[') {
      host += list.front();
      list.remove_prefix(1);
      continue;
    }
    const auto end = list.find(']');
    if (end == list.npos) return std::nullopt;
    const std::string_view numbers = list.substr(1, end - 1);
    const std::string_view first = numbers.substr(0, numbers.find_first_of(",-"));
    if (first.empty() || first.find_first_not_of("0123456789") != first.npos) return std::nullopt;
    host += first;
    list.remove_prefix(end + 1);
  }
  if (host.empty() || host.find_first_not_of(letters) != host.npos) return std::nullopt;
  return host;
}

Result<std::optional<MeetingPoint>> meeting_point_by_slurm(Rank rank) {
  const auto list = environment::find({"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"});
  const auto own = environment::find({"SLURM_PROCID"}), job = environment::find({"SLURM_JOB_ID", "SLURM_JOBID"});
  if (!list || !job || !own || own->value != std::to_string(rank)) return std::optional<MeetingPoint>();
  const auto host = first_host(list->value);
  if (!host) {
    return Status(Code::invalid_environment,
                  fmt::format("{} is \"{}\", which is no list of hosts as Slurm writes it; set MASTER_ADDR and "
                              "MASTER_PORT instead",
                              list->name, list->value));
  }
  const auto place = environment::find({"SLURM_NODEID"});
  if (rank == 0 && place && place->value != "0") {
    return Status(
        Code::invalid_environment,
        fmt::format("Slurm has put rank 0 on host number {} of {}, and not on the first one, where the others "
                    "look for it: set MASTER_ADDR and MASTER_PORT on all ranks, or leave out "
                    "--distribution=arbitrary",
                    place->value, list->value));
  }
  const auto step = environment::find({"SLURM_STEP_ID", "SLURM_STEPID"});
  auto point = MeetingPoint::of_job(fmt::format("Slurm's job {}, step {}", job->value, step ? step->value : ""));
  point.host = every_address();
  point.addresses = {*host};
  return std::optional(point);
}

std::optional<std::string> name_of_pod_0(const std::string& own_name, const std::string& own_index,
                                         const std::string& hosts_file) {
  const std::string ending = '-' + own_index;
  if (!own_name.ends_with(ending)) return std::nullopt;
  const std::string stem = own_name.substr(0, own_name.size() - ending.size());
  for (std::string_view lines = hosts_file; !lines.empty();) {
    const std::string_view line = next_line(lines);
    Words words(line.substr(0, line.find('#')));
    words.skip(1);  // the address
    while (!words.rest().empty()) {
      const std::string_view name = words.word();
      if (name.starts_with(own_name + '.')) return fmt::format("{}-0{}", stem, name.substr(own_name.size()));
    }
  }
  return std::nullopt;
}

bool is_in_indexed_job(Rank rank) {
  const auto variable = environment::in_force("HOCKET_RANK"), index = environment::find({"JOB_COMPLETION_INDEX"});
  return variable && index && variable->value == index->value && index->value == std::to_string(rank);
}

Result<std::optional<MeetingPoint>> meeting_point_by_kubernetes(Rank rank) {
  if (!is_in_indexed_job(rank)) return std::optional<MeetingPoint>();
  const std::string hosts = file_contents("/etc/hosts").value_or(""), own_name = own_host_name();
  const auto first = name_of_pod_0(own_name, std::to_string(rank), hosts);
  if (!first) {
    return Status(Code::invalid_environment,
                  fmt::format("this pod of an indexed Job, {}, does not know how the others call it: give the pod's "
                              "template a `subdomain`, which is the name of a headless Service, or set MASTER_ADDR and "
                              "MASTER_PORT",
                              own_name));
  }
  auto point = MeetingPoint::at(every_address(), port_of_pods, false);
  point.daemon_possible = false;
  point.name = *first;
  point.addresses = {*first};
  return std::optional(point);
}

}  // namespace hocket::comm
