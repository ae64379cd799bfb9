#include "src/comm/link_set.hpp"

#include <fmt/format.h>

#include <numeric>
#include <utility>

namespace hocket {
namespace {

constexpr std::chrono::seconds farewell{1};  // what leaving may take

}  // namespace

LinkSet::LinkSet(std::unique_ptr<Executor> executor, std::vector<std::unique_ptr<Transport>> transports,
                 std::shared_ptr<LoopbackHub> hub)
    : hub_(std::move(hub)), executor_(std::move(executor)), mesh_(std::move(transports)) {}

Result<std::shared_ptr<LinkSet>> LinkSet::make(std::unique_ptr<Executor> executor,
                                               std::vector<std::unique_ptr<Transport>> transports,
                                               std::shared_ptr<LoopbackHub> hub) {
  std::shared_ptr<LinkSet> link_set(new LinkSet(std::move(executor), std::move(transports), std::move(hub)));
  if (Status attached = link_set->executor_->attach(link_set->mesh_); !attached.ok()) return attached;
  return link_set;
}

LinkSet::~LinkSet() {
  executor_->stop(
      Status(Code::aborted, fmt::format("rank {} destroyed its communicator while operations were pending", rank())));
  window_.reset();
  mesh_.shut_down(executor_->broken(), Deadline::after(farewell));
}

Status LinkSet::open_window(WindowUse use, Deadline deadline) {
  Transport* transport = mesh_.window_transport();
  if (transport == nullptr) return {};
  std::vector<Rank> members(mesh_.cards().size());
  std::iota(members.begin(), members.end(), 0);
  return executor_->with_exclusive_progress([&]() -> Status {
    auto window = transport->open_window(members, deadline);
    if (!window.ok()) return window.status();
    window_ = std::move(*window);
    window_transport_ = transport->name();
    // Whoever breaks tells all members at once: one of them may be about to read memory that is given back then.
    for (const Rank member : members) {
      if (member == rank()) continue;
      if (auto link = mesh_.link(member, deadline); !link.ok()) return link.status();
    }
    window_use_ = std::move(use);
    window_use_.window = window_.get();
    window_use_.names = &executor_->listener();
    executor_->use_window(*window_);
    return {};
  });
}

void LinkSet::settle_number(std::uint32_t agreed) {
  std::uint32_t latest = latest_number_;
  while (latest < agreed && !latest_number_.compare_exchange_weak(latest, agreed)) {
  }
}

}  // namespace hocket
