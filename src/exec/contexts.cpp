#include "src/exec/contexts.hpp"

#include <fmt/format.h>

#include <new>
#include <utility>

namespace hocket {

Contexts::Contexts(Rank rank, Rank size, std::string name, bool says_names, StepRecorder* steps)
    : rank_(rank),
      size_(size),
      shared_(std::make_shared<Context::Shared>(Context::Shared{.steps = steps})),
      first_(std::make_shared<Context>(Context::Identity{.name = std::move(name)}, size, shared_)),
      says_names_(says_names) {}

std::shared_ptr<Context> Contexts::add(Context::Identity identity) {
  say_names();
  const Rank size = identity.peers.empty() ? size_ : static_cast<Rank>(identity.peers.size());
  auto context = std::make_shared<Context>(std::move(identity), size, shared_);
  const std::lock_guard lock(mutex_);
  std::erase_if(others_, [](const auto& other) { return other.expired(); });
  others_.push_back(context);
  return context;
}

// Two ranks have no two communicators of one number.
std::shared_ptr<Context> Contexts::find(std::uint32_t number, Rank peer) const {
  if (number == first_->number()) return first_;
  const std::lock_guard lock(mutex_);
  for (const auto& other : others_) {
    if (auto context = other.lock(); context && context->number() == number && context->has(peer)) return context;
  }
  return nullptr;
}

std::vector<std::shared_ptr<Context>> Contexts::all() const {
  std::vector<std::shared_ptr<Context>> found{first_};
  const std::lock_guard lock(mutex_);
  for (const auto& other : others_) {
    if (auto context = other.lock()) found.push_back(std::move(context));
  }
  return found;
}

std::string Contexts::describe(std::uint32_t number, Rank peer) const {
  const auto context = find(number, peer);
  return context ? fmt::format("communicator \"{}\"", context->name())
                 : fmt::format("communicator number {}, which rank {} does not have", number, rank_);
}

Status Contexts::named(const Status& status, const Context& context) const {
  if (!says_names_ || status.message().find("communicator \"") != std::string::npos) return status;
  try {
    Cause cause = status.cause();
    cause.message += fmt::format(" (communicator \"{}\"", context.name());
    if (&context != first_.get()) cause.message += fmt::format(", ranks as in \"{}\"", first_->name());
    cause.message += ")";
    return Status(std::move(cause));
  } catch (const std::bad_alloc&) {
    return status;
  }
}

}  // namespace hocket
