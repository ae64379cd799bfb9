// The text of a record file: JSON, as docs/reference/hocket-doctor.md describes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/exec/recording.hpp"

namespace hocket::comm {

// Why a record was written.
enum class RecordReason : std::uint8_t { broken, signal, request, end };

// Whose record it is.
struct RecordOwner {
  std::string name;  // of the first communicator
  std::uint64_t group = 0;
  Rank rank = 0, size = 1;
  std::vector<std::string> processes;  // by rank, ProcessIdentity::serialise(); empty: not known yet
};

std::string record_text(const RecordOwner& owner, const Recording& recording, RecordReason reason);

}  // namespace hocket::comm
