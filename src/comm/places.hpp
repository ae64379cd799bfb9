// Places: which process is which rank of an epoch, as the store holds it.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "src/comm/epoch.hpp"
#include "src/spi/store.hpp"

namespace hocket::comm {

// A place is free where nobody holds it or its holder is gone: its process has ended, as the store or this host can
// tell, or it has shown no sign of life for a while.
class Places {
 public:
  enum class Holder { nobody, this_creation, this_process, another };
  struct Standing {
    Holder holder = Holder::nobody;
    std::string process = {};  // another: for messages
  };

  // `token` names this creation.
  Places(Store& store, std::string job, std::uint64_t token, std::stop_token stop)
      : store_(store),
        job_(std::move(job)),
        stop_(std::move(stop)),
        mine_{.process = ProcessIdentity::own(), .token = token, .beat = 0} {}

  std::string key(std::uint64_t epoch, Rank rank) const;
  Result<Standing> look(std::uint64_t epoch, Rank rank, Deadline deadline) const;
  // Takes the place if it is free: then the holder is this_creation. `bequest`: what a store is to say that sees this
  // creation end with it.
  Result<Standing> take(std::uint64_t epoch, Rank rank, const Bequest& bequest, Deadline deadline);
  // Shows that this creation lives, where the store does not see that by itself. Code::rank_taken where another process
  // has the place by now.
  Status beat(Deadline deadline);
  // Gives the place up, as far as that is possible by the deadline, also where it would last as long as the connection.
  void release(Deadline deadline);
  std::uint64_t token() const { return mine_.token; }

 private:
  Standing standing_of(const std::string& key, const std::string& text, Deadline deadline) const;
  bool shows_life(const std::string& key, const std::string& text, Deadline deadline) const;

  Store& store_;
  const std::string job_;
  const std::stop_token stop_;
  Claim mine_;
  std::string held_;  // the key; empty: none
  Deadline::Clock::time_point beaten_{};
};

}  // namespace hocket::comm
