// What becomes of an elastic job when ranks of it end.
#pragma once

#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "src/comm/joining_point.hpp"
#include "src/spi/types.hpp"
#include "tools/launch.hpp"
#include "tools/launch_ranks.hpp"

namespace hocket::launch {

// A rank that dies is replaced by a newcomer, or the job goes on without it. Newcomers need somebody who takes them in:
// where all processes that are left wait at the joining point, one of them begins anew, or, at the end, they are ended.
class ElasticJob {
 public:
  // `ranks` must outlive this object.
  ElasticJob(const Elastic& bounds, Ranks& ranks);
  ~ElasticJob();
  ElasticJob(const ElasticJob&) = delete;
  ElasticJob& operator=(const ElasticJob&) = delete;

  struct Decision {
    std::string sentence;            // what was done, without a full stop; empty: nothing to tell
    std::optional<int> ends_with{};  // the job ends, with this exit status
  };
  // A rank has ended, and those that ended with it no longer run.
  Decision after(const End& end);
  // To be called after every event, and every wait_ms(). Asks the store whether only newcomers are left, now and then,
  // and does not wait for its answer.
  Decision look();
  // Until look() is to be called; -1: when something has happened.
  int wait_ms() const;

 private:
  // At the joining point.
  struct Look {
    std::unique_ptr<comm::JoiningPoint> point = {};           // for the next one
    std::optional<std::vector<comm::Newcomer>> waiting = {};  // nothing: the store is out of reach
  };

  Decision replace(const End& end, bool founds);
  bool may_look() const { return watches_ && !place_ && ranks_.running() > 0; }
  void begin_look();
  bool found_all_waiting();
  bool all_wait(const std::vector<comm::Newcomer>& waiting) const;
  Decision begin_anew();
  std::string restarts_text() const;

  const Elastic bounds_;
  Ranks& ranks_;
  int restarts_ = 0;          // that were made
  int ended_well_ = 0;        // ranks
  int last_status_ = 0;       // exit status of the rank that died last
  std::optional<int> place_;  // whose process was ended, so that rank 0 can begin anew there
  bool watches_ = false;      // whether a rank has ended, so that nobody may be left to take newcomers in
  Deadline look_again_ = Deadline::after({});
  std::unique_ptr<comm::JoiningPoint> point_;
  std::stop_source over_;
  std::future<Look> look_;  // valid while one is under way
  bool outdated_ = false;   // a rank has ended since that began
};

// Of a rank, as a shell says it.
int exit_status(int wait_status);

}  // namespace hocket::launch
