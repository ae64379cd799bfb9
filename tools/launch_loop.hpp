// What a launch does from the start of its ranks until nothing of them is left, wherever they run.
#pragma once

#include <optional>
#include <string>

#include "src/spi/types.hpp"
#include "tools/launch.hpp"
#include "tools/launch_agent_input.hpp"
#include "tools/launch_elastic.hpp"
#include "tools/launch_ranks.hpp"
#include "tools/launch_relays.hpp"
#include "tools/signals.hpp"

namespace hocket::launch {

class Launch {
 public:
  // All must outlive this object. `agent`: this process looks after one host's ranks for a launch elsewhere, which it
  // obeys and tells of every end.
  Launch(const Options& options, const Signals& signals, Relays& relays, Ranks& ranks, AgentInput* agent = nullptr)
      : options_(options), signals_(signals), relays_(relays), ranks_(ranks), agent_(agent) {
    if (options.elastic) elastic_.emplace(*options.elastic, ranks);
  }

  // The exit status.
  int run();

 private:
  void say(const std::string& sentence);
  void start();
  void wait_for_events();
  void handle_signals();
  void obey();
  void interrupt(int number);
  void take_ends();
  void outlive(const std::vector<End>& ends);
  void follow(const ElasticJob::Decision& decision, const std::string& cause);
  void report_failure(const End& end);
  void end_all(int number);
  void end_leftovers();
  void kill_all();
  void relay_output();
  void relay_rest();
  void output_closed(int error);

  bool interrupted() const { return interrupts_ > 0; }
  bool gave_up() const { return killed_ && killed_->passed(); }

  const Options& options_;
  const Signals& signals_;
  Relays& relays_;
  Ranks& ranks_;
  AgentInput* agent_;
  std::optional<ElasticJob> elastic_;
  std::optional<End> failed_;         // the likeliest cause so far
  std::optional<Deadline> settled_;   // nothing likelier will come after this
  std::optional<int> status_;         // set by whatever went wrong first
  std::optional<Deadline> recorded_;  // a rank has failed, and the others have until then to write records
  std::optional<Deadline> ending_;    // SIGTERM was sent; SIGKILL follows when this passes
  std::optional<Deadline> killed_;    // SIGKILL was sent
  int interrupts_ = 0;                // signals that asked to end
  bool leftovers_ended_ = false;
};

}  // namespace hocket::launch
