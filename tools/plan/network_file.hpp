// Networks as people write them: a word, or a JSON file that docs/performance/cost-networks.md describes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/plan/network.hpp"

namespace hocket {

// The network that a description in JSON stands for. `name` is that of the file, for messages. `ranks`: 0, or how many
// the caller wants: it fills in what the text leaves out, and must agree with what it says. invalid_argument names
// line and field.
Result<Network> read_network(std::string_view text, std::string_view name, Rank ranks);

// What read_network() reads: hosts, with classes of links between them and inside. `notes` are lines for people.
std::string write_network(const NetworkDescription& description, Rank hosts, const std::vector<std::string>& notes);

// The same network where ranks of one host share no memory and exchange over TCP as all others do.
Result<Network> over_tcp(const Network& network);

// "flat", "8x4" (hosts × ranks on each) or the path of a file. `ranks` as above; `cores` of each host, 0 for those
// that the description has.
Result<Network> open_network(const std::string& topology, Rank ranks, Rank cores);

}  // namespace hocket
