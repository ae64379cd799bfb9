// What happened in a group of ranks, in a sentence, and who was first.
#pragma once

#include <string>

#include "tools/doctor/record.hpp"

namespace hocket::doctor {

struct Diagnosis {
  std::string kind;     // one of docs/reference/hocket-doctor.md
  Rank rank = no_rank;  // that was first, or is at fault; no_rank: none, or not known
  std::string sentence;
};

// Looks also at processes of this host, of which no record stands there.
Diagnosis diagnose(const Group& group);

}  // namespace hocket::doctor
