// Where the ranks of a launch on several hosts meet when nobody names a place, and their launcher has a key space: rank
// 0 chooses a place and a secret, and tells all of them.
#pragma once

#include <stop_token>

#include "src/comm/options.hpp"

namespace hocket::comm {

// The options with a meeting point, and the secret if they have none, where rank 0 is to tell all through the
// launcher's key space (options.key_space). It does so once in the life of the process: communicators made later meet
// at the same place, and where that failed, they fail with store_unreachable. Errors: those of tell_all();
// invalid_environment where this host has no address that is allowed.
Result<Options> with_meeting_point(const Options& options, Deadline deadline, const std::stop_token& stop);

}  // namespace hocket::comm
