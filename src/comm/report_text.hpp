// What a rank tells its job's store about itself, once a second: JSON, as docs/reference/hocket-store.md describes it.
#pragma once

#include <string>

#include "src/comm/record_text.hpp"

namespace hocket::comm {

std::string report_text(const std::string& job, const RecordOwner& owner, const Recording& recording);

}  // namespace hocket::comm
