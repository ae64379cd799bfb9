// What the store's server tells those who watch over it, over HTTP: GET /health and GET /metrics (in the text format of
// Prometheus). Included by the server's own sources only (Asio).
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "src/store/acceptors.hpp"

namespace hocket::store {

struct Metrics {
  std::size_t clients = 0;          // connected and welcomed
  std::size_t keys = 0, bytes = 0;  // held, as they count towards the limits
  std::size_t waiting = 0;          // requests that wait for keys
  std::uint64_t requests = 0;       // taken, since the start; so are the next
  std::uint64_t connections = 0;    // accepted
  std::uint64_t refusals = 0;       // of what broke the protocol or found no room
  std::uint64_t evictions = 0;      // to make room

  std::string text() const;
};

// The whole answer to a request of which `head` has come: empty while that is not whole yet.
std::string http_answer(std::string_view head, const Metrics& metrics);

class HttpExchange;

// At most a few connections at a time, each for a few seconds and one request.
class MetricsPage {
 public:
  MetricsPage(asio::io_context& context, std::string host, std::function<Metrics()> measure)
      : acceptors_(context, std::move(host)), measure_(std::move(measure)) {}

  Status listen(std::uint16_t port) { return acceptors_.listen(port); }
  std::uint16_t port() const { return acceptors_.port(); }
  void serve();
  void close();

 private:
  Acceptors acceptors_;
  const std::function<Metrics()> measure_;
  std::list<std::weak_ptr<HttpExchange>> open_;
};

}  // namespace hocket::store
