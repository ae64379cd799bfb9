// Ranks as forked processes, each with a shared-memory transport of its own.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "src/base/region_table.hpp"
#include "src/spi/transport.hpp"
#include "transports/shm/shm_transport.hpp"

namespace hocket::shm {

// Far beyond what anything here takes: only what hangs meets it.
inline Deadline generous() {
  return Deadline::after(std::chrono::seconds(60));
}

inline std::uint64_t fresh_group() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

// Remembers what the transport told of its peers.
class Witness final : public TransportListener {
 public:
  void peer_failed(Rank peer, const Status& why) override {
    if (failure.ok()) failure = why;
    failed.push_back(peer);
  }
  void peer_left(Rank peer) override { left.push_back(peer); }
  Status given_up() const override { return ++questions > 3 ? gives_up_with : Status(); }

  Status failure;
  Status gives_up_with;  // after a few questions
  mutable int questions = 0;
  std::vector<Rank> failed;
  std::vector<Rank> left;
};

struct Party {
  Party(std::uint64_t group, Rank rank, Rank size) {
    auto made = make_transport({.rank = rank, .size = size, .group = group, .listener = &witness, .regions = &regions});
    if (!made) throw std::runtime_error(made.status().message());
    transport = std::move(*made);
  }
  Result<std::unique_ptr<Window>> open_window(Rank size) {
    std::vector<Rank> members(static_cast<std::size_t>(size));
    std::iota(members.begin(), members.end(), 0);
    return open_window(members);
  }
  // Ranks count the windows that they open, so they agree on the numbers.
  Result<std::unique_ptr<Window>> open_window(std::span<const Rank> members, Deadline deadline = generous()) {
    return transport->open_window(windows++, members, deadline);
  }
  // Makes progress, sleeping in between, until `done` or a generous deadline. Returns done().
  template <class Done>
  bool until(Done done) {
    const Deadline deadline = generous();
    std::vector<pollfd> interests;
    while (transport->progress() != 0 || (!done() && !deadline.passed())) {
      interests.clear();
      if (done() || !transport->arm(interests)) continue;
      const auto next = transport->next_deadline();
      ::poll(interests.data(), interests.size(), (next ? earlier(*next, deadline) : deadline).remaining_ms());
      transport->disarm();
    }
    return done();
  }

  Witness witness;
  RegionTable regions;
  std::unique_ptr<Transport> transport;
  std::uint32_t windows = 0;
};

// Listening must begin before anybody dials, so every rank's transport is made first; then `run` is called in each.
// Rank 0 is this process. Returns the children's pids, by rank (0 for this process).
class Ranks {
 public:
  using Run = std::function<void(Party&, Rank)>;

  Ranks(Rank size, const Run& run) : size_(size) {
    const std::uint64_t group = fresh_group();
    int ready[2], go[2];
    if (::pipe(ready) != 0 || ::pipe(go) != 0) throw std::runtime_error("no pipe");
    for (Rank rank = 1; rank < size; ++rank) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::close(go[1]);
        int status = 1;
        try {
          Party party(group, rank, size);
          char byte = 'r';
          if (::write(ready[1], &byte, 1) == 1 && ::read(go[0], &byte, 1) >= 0) run(party, rank);
          status = testing::Test::HasFailure() ? 1 : 0;
        } catch (const std::exception& error) {
          std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
        }
        std::fflush(nullptr);
        ::_exit(status);
      }
      children_.push_back(child);
    }
    Party party(group, 0, size);
    char byte;
    for (Rank rank = 1; rank < size; ++rank) EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    for (const int fd : {ready[0], ready[1], go[0], go[1]}) ::close(fd);
    run(party, 0);
  }
  ~Ranks() {
    for (const pid_t child : children_) {
      int status = 0;
      ::waitpid(child, &status, 0);
      const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && may_be_killed_;
      EXPECT_TRUE(killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) << "a rank failed, see above";
    }
  }
  void allow_killed() { may_be_killed_ = true; }

 private:
  Rank size_;
  std::vector<pid_t> children_;
  bool may_be_killed_ = false;
};

}  // namespace hocket::shm
