#include "src/store/metrics_page.hpp"

#include <array>
#include <chrono>

namespace hocket::store {
namespace {

constexpr std::size_t exchanges_max = 16;
constexpr std::chrono::seconds longest_exchange{5};

}  // namespace

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
    end(socket_);
  }

 private:
  void read() {
    socket_.async_read_some(asio::buffer(block_),
                            [self = shared_from_this()](const asio::error_code& error, std::size_t bytes) {
                              if (error) return self->close();
                              self->head_.append(self->block_.data(), bytes);
                              self->answer_ = http_answer(self->head_, self->measure_);
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
  acceptors_.accept(
      [this](asio::ip::tcp::socket socket) {
        open_.remove_if([](const auto& exchange) { return exchange.expired(); });
        while (open_.size() >= exchanges_max) {  // who asks is served at once, so the oldest is the likeliest stranger
          if (const auto oldest = open_.front().lock()) oldest->close();
          open_.pop_front();
        }
        const auto exchange = std::make_shared<HttpExchange>(std::move(socket), measure_);
        open_.push_back(exchange);
        exchange->start();
      },
      [](asio::ip::tcp::socket) { return false; }, [] {});
}

void MetricsPage::close() {
  acceptors_.close();
  for (const auto& exchange : open_) {
    if (const auto still = exchange.lock()) still->close();
  }
}

}  // namespace hocket::store
