// Where rank 0 of a launch on several hosts is, by the names that its launcher tells.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "src/comm/meeting_point.hpp"
#include "src/spi/status.hpp"

namespace hocket::comm {

// By the list of hosts that Slurm gives its steps: on the first one, at ports that follow from the step's number.
// Nothing where Slurm has not started this process. invalid_environment where rank 0 is on another host.
Result<std::optional<MeetingPoint>> meeting_point_by_slurm(Rank rank);
// In a pod of an indexed Job of Kubernetes: at port 29500 of the pod with index 0. Nothing elsewhere.
// invalid_environment where the pod does not know the domain of its fellows.
Result<std::optional<MeetingPoint>> meeting_point_by_kubernetes(Rank rank);
// Whether an indexed Job has started this process as that rank.
bool is_in_indexed_job(Rank rank);

// The first of "node[01-03,07],login": node01. Nothing where that is no list of Slurm's.
std::optional<std::string> first_host(std::string_view list);
// The full name of the pod with index 0, by that of one with another: "job-3" and the /etc/hosts that holds
// "10.0.0.7 job-3.service.space job-3" make "job-0.service.space". Nothing where they say none.
std::optional<std::string> name_of_pod_0(const std::string& own_name, const std::string& own_index,
                                         const std::string& hosts_file);

}  // namespace hocket::comm
