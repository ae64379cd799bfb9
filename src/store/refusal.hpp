// Says no to a connection for which the store's server has no room. Included by the server's own sources only (Asio).
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "src/store/asio.hpp"
#include "src/store/wire.hpp"

namespace hocket::store {

// Lives until the refusal is sent and the other side has closed, or its time is over.
class Refusal : public std::enable_shared_from_this<Refusal> {
 public:
  explicit Refusal(asio::ip::tcp::socket socket) : socket_(std::move(socket)), timer_(socket_.get_executor()) {}

  void start(std::string_view why, std::chrono::milliseconds longest) {
    text_ = wire::encode_greeting(wire::server_magic,
                                  {.word = static_cast<std::uint16_t>(wire::Verdict::refused), .text = why});
    timer_.expires_after(longest);
    timer_.async_wait([self = shared_from_this()](const asio::error_code&) { self->close(); });
    asio::async_write(socket_, asio::buffer(text_),
                      [self = shared_from_this()](const asio::error_code& error, std::size_t) {
                        asio::error_code ignored;
                        if (!error) self->socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
                        self->drain(error);
                      });
  }
  void close() {
    asio::error_code ignored;
    timer_.cancel(ignored);
    end(socket_);
  }

 private:
  // What is closed with bytes unread resets the connection, and the refusal may be lost.
  void drain(const asio::error_code& error) {
    if (error) return close();
    socket_.async_read_some(asio::buffer(unread_), [self = shared_from_this()](const asio::error_code& end,
                                                                               std::size_t) { self->drain(end); });
  }

  asio::ip::tcp::socket socket_;
  asio::steady_timer timer_;
  std::string text_;
  std::array<char, 256> unread_{};
};

}  // namespace hocket::store
