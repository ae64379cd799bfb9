#include "src/comm/agree.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "src/base/caught.hpp"
#include "src/comm/agreeing.hpp"
#include "src/comm/attendant.hpp"

namespace hocket::comm {
namespace {

// Who answers others from now on. Without memory nobody does: they wait until they see this rank's end.
void leave_behind(const std::shared_ptr<Agreeing>& agreeing, Standby& standby, Deadline until) {
  try {
    auto attendant =
        Attendant::start([agreeing, until](const std::stop_token& over) { agreeing->attend(until, over); });
    if (attendant.ok()) standby.leave_behind(std::move(*attendant));
  } catch (...) {
    return;
  }
}

}  // namespace

Result<Agreed> agree(CommunicatorParts& parts, const std::function<Status()>& broken, const AgreeRequest& request,
                     const std::stop_token& stop) {
  Lineage& lineage = parts.lineage;
  const Membership& membership = parts.membership;
  if (membership.size() == 1) return Agreed{.flag = request.flag};
  if (!lineage.standby) {
    return Status(
        Code::unsupported,
        fmt::format("the ranks of \"{}\" cannot agree: it runs on the links of another communicator, or is one "
                    "of threads; agree on the communicator that has the links",
                    membership.name()));
  }
  std::uint64_t number = 0;
  const auto turn = StandbyTurn::take(lineage.standby, [&] {
    number = lineage.agreements + 1;
    return Doing{.shrinks = false, .generation = lineage.generation, .group = lineage.group, .number = number};
  });
  if (!turn.ok()) return turn.status();
  if (lineage.agreement) {
    lineage.agreement->come_again(request.flag);
  } else {
    const Ranks members(lineage.standby_ranks.begin(), lineage.standby_ranks.end());
    lineage.agreement = std::make_shared<Agreement>(lineage.standby->rank(), members, Ranks(), request.flag);
  }
  const auto timeout = request.timeout.count() == 0 ? membership.options().timeout : request.timeout;
  const auto agreeing = std::make_shared<Agreeing>(parts, lineage.agreement, broken);
  Agreed agreed;
  try {
    if (Status failed = agreeing->run(Deadline::after(timeout), stop); !failed.ok()) return failed;
    const Outcome outcome = *agreeing->agreement().outcome();
    agreed.flag = outcome.flag;
    for (Rank rank = 0; rank < membership.size(); ++rank) {
      if (outcome.dead.contains(lineage.standby_ranks[static_cast<std::size_t>(rank)])) agreed.dead.push_back(rank);
    }
    lineage.standby->remember(lineage.group, number, outcome);
  } catch (...) {  // which may have lost a note
    const Status why = caught.status();
    lineage.standby->leave(why);
    return why;
  }
  lineage.agreements = number;
  lineage.agreement.reset();
  if (!agreeing->agreement().over()) leave_behind(agreeing, *lineage.standby, Deadline::after(timeout));
  return agreed;
}

}  // namespace hocket::comm
