#include "tools/launch_elastic.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <set>
#include <system_error>

#include "src/base/signals_blocked.hpp"
#include "src/comm/join.hpp"

namespace hocket::launch {
namespace {

constexpr std::chrono::milliseconds look_every{200};
constexpr int ask_again_ms = 10;  // whether the store has answered
constexpr std::chrono::seconds store_patience{5};

std::string count_text(int count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

Result<std::unique_ptr<comm::JoiningPoint>> open_point(const std::stop_token& stop) {
  const auto request = comm::join_request(nullptr, nullptr, std::nullopt);
  if (!request) return request.status();
  return comm::JoiningPoint::open(*request, Deadline::after(store_patience), stop);
}

}  // namespace

int exit_status(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

ElasticJob::ElasticJob(const Elastic& bounds, Ranks& ranks) : bounds_(bounds), ranks_(ranks) {}

// A request to the store that is under way is waited for.
ElasticJob::~ElasticJob() {
  over_.request_stop();
}

std::string ElasticJob::restarts_text() const {
  return fmt::format("restart {} of {}", restarts_, bounds_.restarts);
}

ElasticJob::Decision ElasticJob::after(const End& end) {
  watches_ = true;
  outdated_ = look_.valid();
  const bool begins_anew = place_ == end.rank;
  if (begins_anew) place_.reset();
  if (end.wait_status == 0) {
    ++ended_well_;
    return {};
  }
  if (begins_anew) return replace(end, true);
  last_status_ = exit_status(end.wait_status);
  const int left = ranks_.running() + ended_well_;
  if (left < bounds_.least) {
    return {.sentence = fmt::format("{} left, fewer than {}; the job ends",
                                    left == 0   ? "no rank is"
                                    : left == 1 ? "1 rank is"
                                                : count_text(left, "rank") + " are",
                                    bounds_.least),
            .ends_with = last_status_};
  }
  if (ended_well_ > 0) return {.sentence = "going on without it, as others have ended well"};
  if (restarts_ < bounds_.restarts) return replace(end, false);
  return {.sentence = bounds_.restarts == 0
                          ? fmt::format("going on with {}", count_text(left, "rank"))
                          : fmt::format("going on with {}: no restarts are left", count_text(left, "rank"))};
}

ElasticJob::Decision ElasticJob::replace(const End& end, bool founds) {
  ++restarts_;
  const Status started = ranks_.start_again(end.rank, founds);
  if (!started) return {.sentence = fmt::format("going on without it: {}", started.message())};
  if (!founds) return {.sentence = fmt::format("a newcomer takes its place ({})", restarts_text())};
  return {.sentence = fmt::format("a new rank 0 takes its place, and the others in ({})", restarts_text())};
}

// On a thread of its own: ranks end, speak and are interrupted while a store does not answer.
void ElasticJob::begin_look() {
  outdated_ = false;
  try {
    const SignalsBlocked signals_blocked;
    look_ = std::async(std::launch::async, [point = std::move(point_), stop = over_.get_token()]() mutable {
      Look done{.point = std::move(point)};
      if (!done.point) {
        auto opened = open_point(stop);
        if (!opened) return done;
        done.point = std::move(*opened);
      }
      auto newcomers = done.point->newcomers(stop);
      if (newcomers) done.waiting = std::move(*newcomers);
      return done;
    });
  } catch (const std::system_error&) {  // no thread is left
    watches_ = false;
  }
}

// Whether every rank that runs is a newcomer that nobody has invited. Then nobody will: members do not wait there.
// Others may wait there, too, whom this launch has not started; and one who is out of sight is taken for such.
bool ElasticJob::all_wait(const std::vector<comm::Newcomer>& waiting) const {
  std::set<int> places;
  for (const comm::Newcomer& newcomer : waiting) {
    const bool in_sight = newcomer.process.is_alive() == true;
    if (const auto place = in_sight ? ranks_.rank_of(newcomer.process.process) : std::nullopt) places.insert(*place);
  }
  return static_cast<int>(places.size()) == ranks_.running();
}

// Whether a look has shown that.
bool ElasticJob::found_all_waiting() {
  if (look_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
  Look done = look_.get();
  look_again_ = Deadline::after(outdated_ ? std::chrono::milliseconds(0) : look_every);
  if (!done.waiting) {
    // The store is out of reach, which the ranks will tell: it is not asked again before one ends after this look
    // began.
    watches_ = outdated_;
    return false;
  }
  point_ = std::move(done.point);
  return !outdated_ && all_wait(*done.waiting);  // who has ended since may have invited somebody before
}

ElasticJob::Decision ElasticJob::look() {
  if (!may_look()) return {};
  if (!look_.valid()) {
    if (look_again_.passed()) begin_look();
    return {};
  }
  if (!found_all_waiting()) return {};
  const int waiting = ranks_.running();
  if (ended_well_ > 0) {
    return {.sentence = fmt::format("the job has ended; so {} that waited to be taken in",
                                    waiting == 1 ? "does the newcomer" : "do the newcomers"),
            .ends_with = 0};
  }
  return begin_anew();
}

int ElasticJob::wait_ms() const {
  if (!may_look()) return -1;
  return look_.valid() ? ask_again_ms : look_again_.remaining_ms();
}

ElasticJob::Decision ElasticJob::begin_anew() {
  const std::string nobody = "no rank is left that could take newcomers in";
  if (restarts_ >= bounds_.restarts) {
    return {.sentence = fmt::format("{}, and no restarts are left; the job ends", nobody), .ends_with = last_status_};
  }
  if (const auto place = ranks_.free_place()) {
    const Decision done = replace({.rank = *place}, true);
    return {.sentence = fmt::format("{}; in place {}, {}", nobody, *place, done.sentence)};
  }
  place_ = 0;
  ranks_.kill_one(0);
  return {.sentence = fmt::format("{}; the newcomer in place 0 is ended, to begin anew there", nobody)};
}

}  // namespace hocket::launch
