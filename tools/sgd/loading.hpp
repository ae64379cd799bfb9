// What ranks learn from, and whether all have the same.
#pragma once

#include <cstdint>
#include <vector>

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

// Every rank's value. Collective.
std::vector<std::uint64_t> on_all(Communicator& comm, std::uint64_t value);
// The first rank whose value is not rank 0's, or -1.
int first_to_differ(const std::vector<std::uint64_t>& values);

}  // namespace hocket::sgd
