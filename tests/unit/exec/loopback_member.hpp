// One rank without a communicator: an executor over its end of a loopback hub.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "src/comm/mesh.hpp"
#include "src/exec/executor.hpp"
#include "transports/loopback/loopback_hub.hpp"

namespace hocket::exec_testing {

class LoopbackMember {
 public:
  LoopbackMember(LoopbackHub& hub, Rank rank) : rank_(rank), size_(hub.size()) {
    executor_ = std::move(*Executor::make({.rank = rank}));
    context_ = executor_->first();
    std::vector<std::unique_ptr<Transport>> transports;
    transports.push_back(
        std::move(*hub.make_transport({.rank = rank, .size = size_, .listener = &executor_->listener()})));
    mesh_ = std::make_unique<comm::Mesh>(std::move(transports), size_);
  }

  template <class Members>
  void meet(const Members& members) {
    for (const auto& member : members) mesh_->add_peer(member->rank_, member->mesh_->endpoints());
    EXPECT_TRUE(executor_->attach(*mesh_).ok());
  }
  Status run(std::shared_ptr<Operation> operation) { return executor_->run({&operation, 1}); }
  void leave() {
    executor_->stop(Status(Code::aborted, "the test is over"));
    mesh_->shut_down(executor_->broken(), Deadline::after(std::chrono::seconds(1)));
  }

 protected:
  Rank rank_, size_;
  std::shared_ptr<Context> context_;

 private:
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<comm::Mesh> mesh_;
};

// All ranks of a hub, which know each other.
template <class Member>
std::vector<std::unique_ptr<Member>> members_of(LoopbackHub& hub) {
  std::vector<std::unique_ptr<Member>> members;
  for (Rank rank = 0; rank < hub.size(); ++rank) members.push_back(std::make_unique<Member>(hub, rank));
  for (auto& member : members) member->meet(members);
  return members;
}

}  // namespace hocket::exec_testing
