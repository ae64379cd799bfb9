#include "src/comm/key_space.hpp"

#include <fmt/format.h>

#include "src/base/environment.hpp"

namespace hocket::comm {
namespace {

bool say(std::initializer_list<const char*> variables, Rank number) {
  const auto found = environment::find(variables);
  return found && found->value == std::to_string(number);
}

}  // namespace

KeySpace key_space_of(Rank rank, Rank size) {
  const bool pmix = environment::find({"PMIX_NAMESPACE"}) && say({"PMIX_RANK"}, rank) &&
                    say({"OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"}, size);
  if (pmix && pmix_usable().ok()) return KeySpace::pmix;
  if (environment::find({"PMI_FD"}) && say({"PMI_RANK"}, rank) && say({"PMI_SIZE"}, size)) return KeySpace::pmi;
  return KeySpace::none;
}

Result<std::string> tell_all(KeySpace space, Rank rank, const std::string& words, Deadline deadline,
                             const std::stop_token& stop) {
  return space == KeySpace::pmix ? tell_all_by_pmix(rank, words, deadline, stop)
                                 : tell_all_by_pmi(rank, words, deadline, stop);
}

std::string why_no_key_space() {
  if (!environment::find({"PMIX_NAMESPACE"})) return "";
  const Status usable = pmix_usable();
  return usable.ok() ? "" : fmt::format(". (The launcher's PMIx would have told: {})", usable.message());
}

Status others_missing(std::string_view barrier) {
  return {Code::timeout,
          fmt::format("not all ranks came to the launcher's {} in time: some were not started, or MASTER_ADDR, "
                      "HOCKET_STORE or the program's options name another meeting point on some of them; set these on "
                      "all ranks or on none",
                      barrier)};
}

}  // namespace hocket::comm
