// Training that goes on when ranks die, and takes new ones in.
#pragma once

#include <functional>
#include <string>

#include "hocket/hocket.hpp"
#include "tools/sgd/options.hpp"
#include "tools/sgd/training.hpp"

namespace hocket::sgd {

// Whether this process was started to join others, which HOCKET_NEWCOMER tells.
bool is_newcomer();

// Rank 0 begins in a communicator of its own and takes the others in, so that any of them may die meanwhile; the
// others, and newcomers, join it. `rank` is this process's, `ranks` how many were started together. Throws
// hocket::Error.
Communicator assemble(int rank, int ranks, const hocket::Options& options);

// Trains with whoever is there; `comm` becomes the communicator of those who end together. `finish` is called on rank 0
// with what it has come to, perhaps again on another rank if one dies in that moment. Throws hocket::Error, from which
// there is no way back; Problem.
Trained train_elastic(const Training& training, Communicator& comm, const hocket::Options& options, const Data& data,
                      const Listener& listener, const std::function<void(const Trained&)>& finish);

}  // namespace hocket::sgd
