// Steps and ranges as people read them.
#pragma once

#include <cstdint>
#include <string>

#include "src/spi/schedule.hpp"

namespace hocket {

std::string describe(const Range& range);  // "output 3", "input 0-3", "cell 1 (chunk 3)", "encoded cell 0 (chunk 3)"
std::string describe(const Topology& topology, Rank size);  // the host of each rank: "0,0,1,1"
std::string describe(const Step& step);                     // "recv_reduce from rank 2: output 3 = input 3 + message"

std::string text_of_size(std::uint64_t bytes);  // "64K" where that is exact, else the number

}  // namespace hocket
