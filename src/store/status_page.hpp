// The page of a store's server: which groups live, what each of their ranks does, and who is behind. No scripts; it
// loads itself again every two seconds.
#pragma once

#include <cstdint>
#include <string>

#include "src/store/metrics.hpp"

namespace hocket::store {

// HTML. `date_ns`: now, by this host's clock.
std::string status_page(const Metrics& metrics, std::int64_t date_ns);

}  // namespace hocket::store
