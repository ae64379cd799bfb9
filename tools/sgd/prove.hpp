// The proof as a person runs it: starts the ranks, shows what they found.
#pragma once

#include "hocket/hocket.hpp"
#include "tools/sgd/options.hpp"

namespace hocket::sgd {

// Starts this program again as the ranks, each on a host of its own: a network namespace that tools/test-hosts makes,
// or all on this machine's loopback where there can be none and options allow it. Nothing outlives the call. Returns
// the exit status. The calling process must have one thread.
int start_proof(const Proof& proof, int argc, char** argv);

// The life of one rank of the proof. Returns its exit status; throws hocket::Error and Problem.
int run_proof(const Options& options, Communicator& world);

}  // namespace hocket::sgd
