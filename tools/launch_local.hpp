// The ranks of a launch that run on this host, as children of this process.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/store/store_server.hpp"
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
  Status start_again(int rank, bool founds) override;
  std::optional<int> free_place() const override;
  void kill_one(int rank) override;
  std::optional<int> rank_of(pid_t process) const override;

 private:
  struct Member {
    int place = 0;            // its local rank, which is that of the process in whose place it was started
    pid_t pid = -1;           // also the number of its process group
    bool running = true;      // the rank itself
    bool group_alive = true;  // it, or something that it started
  };

  int places() const { return options_.elastic ? options_.elastic->most : place_.local; }
  // What ranks have in common.
  Status prepare();
  Status start_one(int place, Role role);
  // What begins each line of the rank.
  std::string label_of(int rank, bool error) const;
  void refresh_groups();

  const Options& options_;
  Relays& relays_;
  const bool for_agent_;
  Place place_;
  Guard guard_;
  std::vector<cpu_set_t> cores_;  // by place; empty: nobody is bound
  std::string secret_, preload_;  // as RankEnvironment has them
  std::unique_ptr<StoreServer> store_;
  std::vector<Member> members_;  // in the order in which they were started
};

}  // namespace hocket::launch
