// The ranks of a launch that run on this host, as children of this process.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/launch.hpp"
#include "tools/launch_process.hpp"
#include "tools/launch_ranks.hpp"
#include "tools/launch_relays.hpp"

namespace hocket::launch {

class LocalRanks : public Ranks {
 public:
  // Both must outlive this object. `place`: for an agent; else the job has no other ranks than these.
  LocalRanks(const Options& options, Relays& relays, const std::optional<Place>& place = {});

  Status start() override;
  void watch(std::vector<pollfd>&) const override {}
  int wait_ms() const override;
  std::vector<End> progress() override;
  void signal(int number) override;
  int running() const override;
  bool alive() const override;
  int settling_ms() const override { return 0; }

 private:
  struct Member {
    pid_t pid = -1;           // also the number of its process group
    bool running = true;      // the rank itself
    bool group_alive = true;  // it, or something that it started
  };

  Status start_one(const RankEnvironment& environment);
  // What begins each line of the rank.
  std::string label_of(int rank, bool error) const;
  void refresh_groups();

  const Options& options_;
  Relays& relays_;
  const bool for_agent_;
  Place place_;
  Guard guard_;
  std::vector<Member> members_;  // by local rank
};

}  // namespace hocket::launch
