// What HOCKET_LOG_LEVEL=info shows of a run in which nothing goes wrong: each communicator, and which algorithms run.
#pragma once

#include <cstddef>
#include <string_view>

#include "src/comm/communicator_parts.hpp"

namespace hocket::comm {

// Who this rank is, and over what it reaches the others.
void log_communicator(const CommunicatorParts& parts);

// What a call runs as; once in the process for each collective and algorithm of a communicator.
void log_algorithm(const Membership& membership, Collective collective, std::size_t bytes, std::string_view algorithm);

// That a call travels exactly although it allows another format; once in the process, likewise.
void log_exact_instead(const Membership& membership, Collective collective, std::size_t bytes, WireFormat allowed,
                       std::string_view algorithm);

}  // namespace hocket::comm
