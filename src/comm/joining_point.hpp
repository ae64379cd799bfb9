// What lies in the store at a joining point.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/comm/join.hpp"
#include "src/comm/places.hpp"
#include "src/spi/store.hpp"

namespace hocket::comm {

// One attempt to make the larger communicator, as a newcomer is told of it.
struct Invitation {
  std::uint64_t attempt = 0;
  Rank members = 0, size = 0, rank = 0;

  std::string serialise() const;
  static std::optional<Invitation> parse(std::string_view text);
};

struct Newcomer {
  Rank place = 0;
  std::uint64_t token = 0;
};

class JoiningPoint {
 public:
  static Result<std::unique_ptr<JoiningPoint>> open(const JoinRequest& request, Deadline deadline,
                                                    const std::stop_token& stop);

  Store& store() { return *store_; }
  // Places lie in epoch 0 of this job.
  const std::string& job() const { return job_; }
  std::string invitation_key(std::uint64_t token) const;
  // The options with which all meet.
  Options meeting(const JoinRequest& request, const Invitation& invitation) const;

  // Those who wait here, in the order of their places.
  Result<std::vector<Newcomer>> newcomers(Deadline deadline, const std::stop_token& stop);
  Result<bool> is_there(const Newcomer& newcomer, Deadline deadline, const std::stop_token& stop);
  // Says whether the attempt counts, unless that has been said; returns what counts.
  Result<bool> decide(std::uint64_t attempt, bool made, Deadline deadline);
  // What was said, if it was.
  Result<std::optional<bool>> decided(std::uint64_t attempt, Deadline deadline);

 private:
  JoiningPoint(std::unique_ptr<Store> store, std::string job) : store_(std::move(store)), job_(std::move(job)) {}
  std::string attempt_key(std::uint64_t attempt) const;

  const std::unique_ptr<Store> store_;
  const std::string job_;
};

}  // namespace hocket::comm
