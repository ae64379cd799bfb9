// What ranks learn from, and whether all have the same.
#pragma once

#include <cstdint>

#include "hocket/hocket.hpp"
#include "tools/sgd/data.hpp"
#include "tools/sgd/options.hpp"

namespace hocket::sgd {

struct Data {
  Dataset training, test;
};

// Reads or draws what the options ask for. Throws Problem.
Data load_alone(const Training& training);

// The same on every rank. Where one rank cannot, all throw Problem: that rank says why, the others name it. All also
// throw where their data or options differ.
Data load(const Options& options, Communicator& comm);

// Equal for equal data and options.
std::uint64_t fingerprint(const Training& training, const Data& data);

// The first rank whose value is not rank 0's, or -1. Collective.
int first_to_differ(Communicator& comm, std::uint64_t value);

}  // namespace hocket::sgd
