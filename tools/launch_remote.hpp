// The ranks of a launch on several hosts, each reached by one connection to an agent there.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/spi/types.hpp"
#include "src/store/store_server.hpp"
#include "tools/launch.hpp"
#include "tools/launch_connection.hpp"
#include "tools/launch_process.hpp"
#include "tools/launch_ranks.hpp"
#include "tools/launch_relays.hpp"

namespace hocket::launch {

class RemoteRanks : public Ranks {
 public:
  // Both must outlive this object; `options` name hosts.
  RemoteRanks(const Options& options, Relays& relays) : options_(options), hosts_(*options.hosts), relays_(relays) {}
  // Whatever connection is left is cut, at which its agent ends its ranks.
  ~RemoteRanks() override;
  RemoteRanks(const RemoteRanks&) = delete;
  RemoteRanks& operator=(const RemoteRanks&) = delete;

  Status start() override;
  void watch(std::vector<pollfd>& watched) const override;
  int wait_ms() const override;
  std::vector<End> progress() override;
  void signal(int number) override;
  int running() const override;
  bool alive() const override;
  int settling_ms() const override { return 100; }  // a rank's death is told on its own host first, but by ssh

 private:
  enum class State {
    called,   // the agent has not answered
    ready,    // it has
    running,  // it has got its job
    failed,   // its ranks cannot be started, or it is lost
  };
  struct Member {
    Share share;
    Connection connection;
    State state = State::called;
    bool has_job = false;        // so it can be told to end its ranks
    int left = 0;                // of its ranks
    std::string client, server;  // addresses of both sides, as ssh sees them; empty: not known
    int port = 0;                // free there
  };

  std::vector<std::string> command_for(const Share& share) const;
  void take_line(Member& member, std::string_view line);
  void take_greeting(Member& member, std::string_view line);
  void take_output(bool error, std::string_view line);
  void fail(Member& member, int status, const std::string& sentence);
  void reap();
  void look_after(Member& member);
  void beat();
  void pause_or_go_on();
  void tell_all(const std::string& order);
  bool all_ready() const;
  Status send_jobs();
  Result<std::string> address() const;

  const Options& options_;
  const Hosts& hosts_;
  Relays& relays_;
  Guard guard_;
  std::vector<Member> members_;  // in the order of their ranks
  std::vector<End> ends_;        // that progress() has not returned yet
  std::unique_ptr<StoreServer> store_;
  Deadline answered_ = Deadline::never();  // by when all agents have to answer
  Deadline beat_ = Deadline::never();      // when agents are told next that this process is there
  bool paused_ = false;
};

}  // namespace hocket::launch
