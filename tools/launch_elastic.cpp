#include "tools/launch_elastic.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <set>

#include "src/comm/join.hpp"
#include "src/comm/joining_point.hpp"

namespace hocket::launch {
namespace {

constexpr std::chrono::milliseconds look_every{200};
constexpr std::chrono::seconds store_patience{5};

std::string count_text(int count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

Result<std::unique_ptr<comm::JoiningPoint>> open_point() {
  const auto request = comm::join_request(nullptr, nullptr, std::nullopt);
  if (!request) return request.status();
  return comm::JoiningPoint::open(*request, Deadline::after(store_patience), {});
}

}  // namespace

int exit_status(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

ElasticJob::ElasticJob(const Elastic& bounds, Ranks& ranks) : bounds_(bounds), ranks_(ranks) {}
ElasticJob::~ElasticJob() = default;

std::string ElasticJob::restarts_text() const {
  return fmt::format("restart {} of {}", restarts_, bounds_.restarts);
}

ElasticJob::Decision ElasticJob::after(const End& end) {
  watches_ = true;
  if (end.wait_status == 0) {
    ++ended_well_;
    return {};
  }
  if (place_ == end.rank) return replace(end, true);
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
  place_.reset();
  ++restarts_;
  const Status started = ranks_.start_again(end.rank, founds);
  if (!started) return {.sentence = fmt::format("going on without it: {}", started.message())};
  if (!founds) return {.sentence = fmt::format("a newcomer takes its place ({})", restarts_text())};
  return {.sentence = fmt::format("a new rank 0 takes its place, and the others in ({})", restarts_text())};
}

// Whether every rank that runs is a newcomer that nobody has invited. Then nobody will: members do not wait there.
// Others may wait there, too, whom this launch has not started; and one who is out of sight is taken for such.
bool ElasticJob::all_wait() {
  if (!point_) {
    auto opened = open_point();
    if (opened) point_ = std::move(*opened);
  }
  const auto waiting =
      point_ ? point_->newcomers({}) : Result<std::vector<comm::Newcomer>>(Status(Code::not_found, ""));
  if (waiting) {
    std::set<int> places;
    for (const comm::Newcomer& newcomer : *waiting) {
      const bool in_sight = newcomer.process.is_alive() == true;
      if (const auto place = in_sight ? ranks_.rank_of(newcomer.process.process) : std::nullopt) places.insert(*place);
    }
    return static_cast<int>(places.size()) == ranks_.running();
  }
  point_.reset();
  watches_ = false;  // the store is out of reach, which the ranks will tell: it is not asked before the next one ends
  return false;
}

ElasticJob::Decision ElasticJob::look() {
  if (!watches_ || !look_again_.passed() || place_ || ranks_.running() == 0) return {};
  look_again_ = Deadline::after(look_every);
  if (!all_wait()) return {};
  const int waiting = ranks_.running();
  if (ended_well_ > 0) {
    return {.sentence = fmt::format("the job has ended; so {} that waited to be taken in",
                                    waiting == 1 ? "does the newcomer" : "do the newcomers"),
            .ends_with = 0};
  }
  return begin_anew();
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
