// Under which keys of a store ranks say what they do, and are asked for their records. A rank's report is JSON
// (report_text.hpp); to ask it for its record, somebody sets its question to a word of his own, and finds the record
// under that word.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/spi/rank.hpp"

namespace hocket::store {

// All reports, of whatever job.
inline constexpr std::string_view report_prefix = "hocket/report/";

struct ReportKeys {
  std::string job;  // as HOCKET_JOB has it
  std::uint64_t group = 0;
  Rank rank = 0;

  // All reports of a job.
  static std::string prefix_of(std::string_view job);
  std::string report() const;
  std::string question() const;
  std::string record(std::string_view word) const;

 private:
  std::string key(std::string_view kind) const;
};

}  // namespace hocket::store
