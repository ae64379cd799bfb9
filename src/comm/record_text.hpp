// The text of a record file: JSON, as docs/reference/hocket-doctor.md describes it.
#pragma once

#include <string>
#include <vector>

#include "src/comm/record_file.hpp"

namespace hocket::comm {

// Whose record it is.
struct RecordOwner {
  std::string name;  // of the first communicator
  std::uint64_t group = 0;
  Rank rank = 0, size = 1;
  std::vector<std::string> processes;  // by rank, ProcessIdentity::serialise(); empty: not known yet
};

std::string record_text(const RecordOwner& owner, const Recording& recording, RecordReason reason);

}  // namespace hocket::comm
