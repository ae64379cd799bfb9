// HostLevels: the ranks of a communicator on several hosts, where those of each host share memory: the ranks of this
// host, and those that lead their hosts, which speak with each other for all.
#pragma once

#include <memory>
#include <vector>

#include "src/comm/membership.hpp"
#include "src/exec/context.hpp"
#include "src/exec/direct/window_use.hpp"

namespace hocket::comm {

struct CommunicatorParts;

class HostLevels {
 public:
  // `context`: the communicator's, before its first call. `window_use`: of this rank's host; null: it is alone there.
  HostLevels(const Membership& membership, Context& context, WindowUse* window_use);

  WindowUse* window_use() const { return window_use_; }
  // The ranks of this host; they are the window's members.
  const std::shared_ptr<Context>& on_host() const { return on_host_; }
  Rank hosts() const { return topology_.hosts(); }
  Rank own_host() const { return own_; }
  Rank host_of(Rank rank) const { return topology_.host_of(rank); }

  // On each host the rank with one number leads, so that where there is a root, it does. Numbers go round.
  struct Leaders {
    Rank number = 0;                           // the root's on its host
    Rank here = 0;                             // that of this host's leader
    std::shared_ptr<Context> among = nullptr;  // their ranks, by host; null: this rank is none of them
  };
  Leaders leaders_with(Rank root) const;

 private:
  Rank number_of(Rank rank) const;

  const Topology topology_;
  const std::vector<std::vector<Rank>> ranks_;  // by host
  const Rank own_;
  WindowUse* const window_use_;
  const std::shared_ptr<Context> on_host_;
  std::vector<std::shared_ptr<Context>> among_;  // by number
};

// The window of a host's ranks.
struct HostWindow {
  bool is_one_of_all = false;  // hosts share memory, so those with several ranks are to have one each
  bool is_lacking = false;     // this one should be there, and is not: then no host uses its own
  WindowUse* use = nullptr;    // null: lacking, or not needed
};
// Opens that of this host. All ranks of the communicator call this, before its first call.
Result<HostWindow> open_window_here(const CommunicatorParts& parts, Deadline deadline);
// From now on calls run over the windows of all hosts, of which this is one and none is lacking.
void use_windows(CommunicatorParts& parts, const HostWindow& here);

}  // namespace hocket::comm
