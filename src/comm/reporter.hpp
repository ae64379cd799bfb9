// Reporter: tells a job's store what a rank does, once a second, and gives its record to whoever asks for it there. For
// hocket-store's page and hocket-doctor --job, where HOCKET_REPORT asks for it.
#pragma once

#include <functional>
#include <string>

#include "src/comm/attendant.hpp"
#include "src/comm/options.hpp"
#include "src/store/reports.hpp"

namespace hocket::comm {

struct ReportSource {
  std::function<std::string()> report;  // what the rank does now
  std::function<std::string()> record;  // its whole record, which fits into a value of a store
};

// On a thread of its own with a connection of its own, which waits in the store for a question, so that it answers
// whatever the program's threads hang in. A store that is lost is looked for again each second; nobody waits for it but
// this thread. Ending it takes a quarter of a second, and a second where the store does not answer.
// Code::out_of_resources where threads ran out.
Result<Attendant> report_to(const ReportTarget& target, const store::ReportKeys& keys, ReportSource source);

}  // namespace hocket::comm
