#include "tools/sgd/elastic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

namespace hocket::sgd {
namespace {

// How long rank 0 waits for those that were started with it, before it begins with those that are there.
constexpr std::chrono::seconds assembly_time{20};

// After these the ranks that are left may go on.
bool somebody_is_missing(const Error& error) {
  return error.result() == HOCKET_PEER_LOST || error.result() == HOCKET_TIMEOUT || error.result() == HOCKET_ABORTED;
}

// Takes in those who wait, at least so many, and at most `room`. False: nobody came, and the ranks go on as they are.
bool take_in(Communicator& comm, int wanted, int room, const hocket::Options& options) {
  const JoinOptions join{.timeout = assembly_time, .newcomers_min = wanted, .newcomers_max = room};
  try {
    std::optional<Communicator> larger = comm.take_in(join, options);
    if (!larger) return false;
    comm = std::move(*larger);
    return true;
  } catch (const Error& error) {
    const bool mended = error.result() != HOCKET_INVALID_ENVIRONMENT && error.result() != HOCKET_INVALID_ARGUMENT;
    if (!mended || hocket_comm_status(comm.handle()) != HOCKET_OK) throw;
    if (comm.rank() == 0) fmt::print(stderr, "hocket-sgd: nobody was taken in: {}\n", error.what());
    return false;
  }
}

class ElasticTraining {
 public:
  ElasticTraining(const Training& training, Communicator& comm, const hocket::Options& options, const Data& data,
                  const Listener& listener)
      : comm_(comm), options_(options), trainer_(training, comm, data, listener, true) {}

  Trained run(const std::function<void(const Trained&)>& finish) {
    for (;;) {
      try {
        if (!settled_) trainer_.settle(std::exchange(change_, {}));
        settled_ = true;
        if (trainer_.looks_for_newcomers() && grow()) continue;
        if (trainer_.advance()) continue;
        const Trained trained = trainer_.conclude();
        if (comm_.rank() == 0) finish(trained);
        comm_.barrier();  // nobody leaves before rank 0 has written
        return trained;
      } catch (const Error& error) {
        if (!somebody_is_missing(error)) throw;
        go_on_after(error);
      }
    }
  }

 private:
  bool grow() {
    trainer_.have_looked();
    const int before = comm_.size();
    if (trainer_.room() <= 0 || !take_in(comm_, 0, trainer_.room(), options_)) return false;
    change_.joined += comm_.size() - before;
    settled_ = false;
    return true;
  }

  void go_on_after(const Error& error) {
    trainer_.begin_again(error.result() == HOCKET_TIMEOUT);
    const int before = comm_.size();
    comm_ = comm_.shrink();
    change_.lost += before - comm_.size();
    settled_ = false;
  }

  Communicator& comm_;
  const hocket::Options& options_;
  Trainer trainer_;
  bool settled_ = false;
  Change change_;  // since ranks settled last
};

}  // namespace

bool is_newcomer() {
  const char* const value = std::getenv("HOCKET_NEWCOMER");
  return value != nullptr && (value == std::string_view("on") || value == std::string_view("1"));
}

Communicator assemble(int rank, int ranks, const hocket::Options& options) {
  if (is_newcomer() || rank > 0) return Communicator::come_in({}, options);
  hocket::Options alone = options;
  alone.world_size = 1;
  Communicator comm = Communicator::create(alone);
  (void)take_in(comm, ranks - 1, std::max(ranks - 1, 1), options);  // alone, too: so a store that is missing shows
  return comm;
}

Trained train_elastic(const Training& training, Communicator& comm, const hocket::Options& options, const Data& data,
                      const Listener& listener, const std::function<void(const Trained&)>& finish) {
  return ElasticTraining(training, comm, options, data, listener).run(finish);
}

}  // namespace hocket::sgd
