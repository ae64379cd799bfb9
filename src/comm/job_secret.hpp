// The secret of a job for which nobody has set one.
#pragma once

#include "src/comm/options.hpp"
#include "src/spi/store.hpp"

namespace hocket::comm {

// Where the store keeps it.
std::string secret_key(const Options& options);
// Whether nobody has set one, and not everyone is to be let in. Then the store must be confidential.
bool needs_secret(const Options& options);
// The options with the secret that all ranks of the job have: the one that was set; else, unless everyone is to be let
// in, a random one, which the first of them leaves in the store, where it stays.
Result<Options> with_secret(const Options& options, Store& store, Deadline deadline);

}  // namespace hocket::comm
