// What the ranks of a job write into the store when they meet, as values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/process_identity.hpp"
#include "src/spi/status.hpp"

namespace hocket::comm {

// One meeting of a job's ranks. Rank 0 opens it; what the group is called on every connection is drawn anew each time.
struct Epoch {
  std::uint64_t number = 0;  // 0: the job has had none yet
  Rank size = 0;
  std::uint64_t group = 0;
  ProcessIdentity leader = {};  // rank 0

  std::string serialise() const;
  static std::optional<Epoch> parse(std::string_view text);
};

// How an epoch's gathering ended. No rank may join it any more.
struct Verdict {
  enum class Kind { complete, superseded, failed };
  Kind kind = Kind::failed;
  Status why;  // failed: as the other ranks report it

  static std::string complete() { return "complete"; }
  // Rank 0 began anew: whoever waits joins its next epoch.
  static std::string superseded() { return "superseded"; }
  static std::string failed(const Status& why);
  static Verdict parse(std::string_view text);
};

// Who holds a rank's place in an epoch.
struct Claim {
  ProcessIdentity process;
  std::uint64_t token = 0;  // of one creation
  std::uint64_t beat = 0;   // counts on while the creation waits, so that others see that it lives

  std::string serialise() const;
  static std::optional<Claim> parse(std::string_view text);
};

}  // namespace hocket::comm
