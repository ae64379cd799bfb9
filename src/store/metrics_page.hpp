// What answers the requests for metrics (src/store/metrics.hpp). Included by the server's own sources only (Asio).
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "src/store/acceptors.hpp"
#include "src/store/metrics.hpp"

namespace hocket::store {

class HttpExchange;

// At most a few connections at a time, each for a few seconds and one request. Where there are more, the oldest ends.
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
