// Agreeing: one rank's way through an agreement. It carries what Agreement wishes over the standby, and looks who is
// alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "src/base/process_identity.hpp"
#include "src/comm/agreement.hpp"
#include "src/comm/communicator_parts.hpp"

namespace hocket::comm {

// Thread rule: one thread at a time. Ranks are those of the standby, unless it says otherwise.
class Agreeing {
 public:
  Agreeing(const CommunicatorParts& parts, std::shared_ptr<Agreement> agreement, std::function<Status()> broken);

  // Takes part until this rank may return, or cannot go on.
  Status run(Deadline deadline, const std::stop_token& stop);
  // Goes on for the others, once this rank holds the outcome.
  void attend(Deadline deadline, const std::stop_token& over);
  const Agreement& agreement() const { return *agreement_; }

 private:
  bool may_return(Deadline deadline, const std::stop_token& stop);
  Status failure(Deadline deadline, const std::stop_token& stop) const;
  Status late() const;
  Status failed(Code code, Rank peer, const std::string& message) const;
  void send_words();
  void take_part(Deadline until);
  void take(const std::vector<News>& news);
  void take_elsewhere(Rank who, const Word& word);
  void tell_why() const;
  void look_who_is_dead(std::size_t most);
  bool is_dead(Rank rank, Suspicion suspicion) const;
  Ranks doubtful() const;
  void ask();
  Rank rank_of(Rank standby_rank) const;

  Standby& standby_;
  const std::shared_ptr<Agreement> agreement_;
  std::function<Status()> broken_;  // null: the communicator may be gone
  const std::vector<Rank> ranks_;   // by rank of the communicator
  const Rank own_rank_;             // likewise
  const std::string name_;          // the communicator's
  const std::uint32_t generation_;
  std::map<Rank, ProcessIdentity> processes_;
  std::size_t next_ = 0;  // to be looked at
  std::optional<Deadline> released_by_;
  Deadline next_look_, next_question_;
  Ranks asked_;       // and silent since
  Status elsewhere_;  // why a member will not come
  Word why_;          // the same for others
};

}  // namespace hocket::comm
