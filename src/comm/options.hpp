// What a communicator is made from, after the caller's options, the environment and the defaults have been put
// together.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "hocket/hocket.h"
#include "src/base/trust.hpp"
#include "src/comm/key_space.hpp"
#include "src/comm/meeting_point.hpp"
#include "src/plan/choices.hpp"
#include "src/plan/direct/path.hpp"
#include "src/plan/tuning.hpp"
#include "src/spi/status.hpp"

namespace hocket {
class Gpus;
}

namespace hocket::comm {

// The store of a job, as its ranks can come back to it.
struct ReportTarget {
  std::string job;
  std::string store;                    // URL; empty: where rank 0 serves it
  std::optional<MeetingPoint> meeting;  // that is then here
  Trust trust;                          // as it was before the ranks made a secret
};

struct Options {
  Rank rank = 0;
  Rank size = 1;
  std::string store;  // URL of a store that others serve; empty: there is none, or none is needed
  std::optional<hocket_store_callbacks> callbacks;  // else a store of the caller's, whose functions are all there
  std::optional<MeetingPoint> meeting;              // else where rank 0 serves one
  KeySpace key_space = KeySpace::none;              // else through what rank 0 tells the others where
  Trust trust;
  std::chrono::milliseconds timeout{300'000};
  std::string name = "default";
  std::string transport = "auto";
  Choices algorithms;  // that the caller wants
  Tuning tuning;       // before the library's own tables
  SingleCopy single_copy = SingleCopy::automatic;
  bool deterministic = false;
  std::optional<ReportTarget> reports = {};  // nothing: there is no store that could be asked later
  Gpus* gpus = nullptr;  // whose memory calls may be on; they outlive the communicator. Null: none's
};

// The caller's fields first, then the environment (HOCKET_*, then torchrun's, then the launcher's), then the defaults.
// `given` may be null. Errors: invalid_argument, invalid_environment, naming the field or variable and what it should
// be.
Result<Options> resolve_options(const hocket_comm_options* given);
// The same for ranks that are threads: no rank, size or store.
Result<Options> resolve_local_options(const hocket_comm_options* given, Rank size);

// The tables of the file that HOCKET_TUNING names; none where it is not set. invalid_environment names the line.
Result<Tuning> tuning_from_environment();

}  // namespace hocket::comm
