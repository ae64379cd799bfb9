// Communicators made from others, and their use.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "tests/process/support/call.hpp"

namespace hocket::process_testing {

// What a child runs on.
enum class Links { own, shared };
inline void PrintTo(Links links, std::ostream* out) {
  *out << (links == Links::own ? "own" : "shared");
}

// These must succeed. `name`: of the child; null: as the library names it.
hocket_comm* split(const Comm& parent, int color, int key, Links links = Links::own, const char* name = nullptr);
hocket_comm* duplicate(const Comm& parent, Links links = Links::own, const char* name = nullptr);
hocket_comm* subset(const Comm& parent, const std::vector<int32_t>& ranks, Links links = Links::own);

int rank_of(const Comm& comm);
int size_of(const Comm& comm);

// Collectives of all shapes whose results depend on every rank and on its number; each is compared with the reference.
void use(const Comm& comm, std::uint64_t salt = 1, std::size_t count = 1000);

// What each rank of the child gives, in the order of its ranks.
std::vector<int> members(const Comm& child, int own);

// How a small allreduce on it was carried out, which must be right.
std::string algorithm_on(const Comm& comm);

hocket_result barrier(const Comm& comm);

}  // namespace hocket::process_testing
