// Contexts: the communicators that share one executor, and what messages call them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "src/exec/context.hpp"
#include "src/spi/status.hpp"

namespace hocket {

// Thread rule: any thread.
class Contexts {
 public:
  // `size`: ranks of the first one. `says_names`: messages say from the beginning which communicator broke. `steps`:
  // where steps of calls are recorded; null: nowhere.
  Contexts(Rank rank, Rank size, std::string name, bool says_names, StepRecorder* steps = nullptr);

  // The communicator that the executor was made for; its number is 0.
  const std::shared_ptr<Context>& first() const { return first_; }
  // Another one, whose peers are among those of the first. From now on messages say which one broke.
  std::shared_ptr<Context> add(Context::Identity identity);
  void say_names() { says_names_ = true; }
  // The one of this number that this rank and the peer have in common; null where there is none any more.
  std::shared_ptr<Context> find(std::uint32_t number, Rank peer) const;

  // How many messages of theirs links have brought to their end. Only for the thread that progresses.
  std::uint64_t ended_messages() const { return shared_->ended; }

  // All that there are, the first one first.
  std::vector<std::shared_ptr<Context>> all() const;

  // What messages call it.
  std::string describe(std::uint32_t number, Rank peer) const;
  // The status with the name of the communicator that it is about, unless the rank that saw it first has said that; as
  // it is, where memory runs out.
  Status named(const Status& status, const Context& context) const;

 private:
  const Rank rank_, size_;
  const std::shared_ptr<Context::Shared> shared_;
  const std::shared_ptr<Context> first_;
  std::atomic<bool> says_names_;
  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<Context>> others_;  // guarded by mutex_
};

}  // namespace hocket
