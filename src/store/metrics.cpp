#include "src/store/metrics.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>

namespace hocket::store {
namespace {

constexpr std::size_t head_bytes_max = 8192;
constexpr std::size_t exchanges_max = 16;
constexpr std::chrono::seconds longest_exchange{5};

std::string answer(std::string_view status, std::string_view text) {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\n"
      "Connection: close\r\n\r\n{}",
      status, text.size(), text);
}

}  // namespace

std::string Metrics::text() const {
  const auto line = [](std::string_view name, std::string_view type, std::string_view help, std::uint64_t value) {
    return fmt::format("# HELP hocket_store_{0} {2}\n# TYPE hocket_store_{0} {1}\nhocket_store_{0} {3}\n", name, type,
                       help, value);
  };
  return line("clients", "gauge", "Clients that are connected.", clients) +
         line("keys", "gauge", "Keys that the store holds.", keys) +
         line("bytes", "gauge", "Bytes of keys and values, as they count towards the limit.", bytes) +
         line("waiting_requests", "gauge", "Requests that wait for keys.", waiting) +
         line("requests_total", "counter", "Requests taken.", requests) +
         line("connections_total", "counter", "Connections accepted.", connections) +
         line("refusals_total", "counter", "Connections that broke the protocol or found no room.", refusals) +
         line("evictions_total", "counter", "Clients that were ended to make room for others.", evictions);
}

std::string http_answer(std::string_view head, const Metrics& metrics) {
  if (head.size() > head_bytes_max) return answer("431 Request Header Fields Too Large", "too long\n");
  if (head.find("\r\n\r\n") == std::string_view::npos) return {};
  const std::string_view line = head.substr(0, head.find("\r\n"));
  if (!line.starts_with("GET ")) return answer("405 Method Not Allowed", "GET only\n");
  const std::string_view target = line.substr(4, line.find(' ', 4) - 4);
  if (target == "/health") return answer("200 OK", "ok\n");
  if (target == "/metrics") return answer("200 OK", metrics.text());
  return answer("404 Not Found", "there are /health and /metrics\n");
}

// One connection. Lives until its answer is sent or its time is over.
class HttpExchange : public std::enable_shared_from_this<HttpExchange> {
 public:
  HttpExchange(asio::ip::tcp::socket socket, const std::function<Metrics()>& measure)
      : socket_(std::move(socket)), timer_(socket_.get_executor()), measure_(measure) {}

  void start() {
    timer_.expires_after(longest_exchange);
    timer_.async_wait([self = shared_from_this()](const asio::error_code&) { self->close(); });
    read();
  }
  void close() {
    asio::error_code ignored;
    timer_.cancel(ignored);
    socket_.close(ignored);
  }

 private:
  void read() {
    socket_.async_read_some(asio::buffer(block_),
                            [self = shared_from_this()](const asio::error_code& error, std::size_t bytes) {
                              if (error) return self->close();
                              self->head_.append(self->block_.data(), bytes);
                              self->answer_ = http_answer(self->head_, self->measure_());
                              if (self->answer_.empty()) return self->read();
                              self->write();
                            });
  }
  void write() {
    asio::async_write(socket_, asio::buffer(answer_),
                      [self = shared_from_this()](const asio::error_code&, std::size_t) { self->close(); });
  }

  asio::ip::tcp::socket socket_;
  asio::steady_timer timer_;
  const std::function<Metrics()>& measure_;  // of the page, which closes this before it ends
  std::array<char, 1024> block_{};
  std::string head_, answer_;
};

void MetricsPage::serve() {
  acceptors_.accept([this](asio::ip::tcp::socket socket) {
    open_.remove_if([](const auto& exchange) { return exchange.expired(); });
    if (open_.size() >= exchanges_max) return;
    const auto exchange = std::make_shared<HttpExchange>(std::move(socket), measure_);
    open_.push_back(exchange);
    exchange->start();
  });
}

void MetricsPage::close() {
  acceptors_.close();
  for (const auto& exchange : open_) {
    if (const auto still = exchange.lock()) still->close();
  }
}

}  // namespace hocket::store
