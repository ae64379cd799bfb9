// What the store's server tells those who watch over it, over HTTP: GET /health, GET /metrics (in the text format of
// Prometheus) and GET /, a page for people (status_page.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "src/store/rank_reports.hpp"

namespace hocket::store {

struct Metrics {
  std::size_t clients = 0;             // connected and welcomed
  std::size_t keys = 0, bytes = 0;     // held, as they count towards the limits
  std::size_t waiting = 0;             // requests that wait for keys
  std::uint64_t requests = 0;          // taken, since the start; so are the next
  std::uint64_t connections = 0;       // accepted
  std::uint64_t refusals = 0;          // of what broke the protocol or found no room
  std::uint64_t evictions = 0;         // to make room
  std::vector<RankReport> ranks = {};  // what ranks have told

  std::string text() const;
};

// The whole answer to a request of which `head` has come: empty while that is not whole yet. `measure` is called for
// answers that tell metrics alone: it reads all reports, and strangers may ask.
std::string http_answer(std::string_view head, const std::function<Metrics()>& measure);

}  // namespace hocket::store
