#include "tests/process/support/store_backends.hpp"

#include <charconv>

#include "src/store/wire.hpp"

namespace hocket::process_testing {

namespace wire = store::wire;

// ---- hocket-store

HocketStoreBackend::HocketStoreBackend(std::vector<std::string> options) : options_(std::move(options)) {
  start();
}

void HocketStoreBackend::start() {
  auto options = options_;
  options.insert(options.end(), {"--port", std::to_string(port_)});
  daemon_ = std::make_unique<Daemon>(options);
  port_ = daemon_->port();
}

void HocketStoreBackend::restart(int signal) {
  daemon_->signal(signal);
  (void)daemon_->wait();
  start();
}

std::optional<StoreBackend::Piece> HocketStoreBackend::first_piece(std::string_view said, bool by_client,
                                                                   bool begins) const {
  if (begins) {
    const auto greeting = wire::parse_greeting(said, by_client ? wire::client_magic : wire::server_magic).value();
    return greeting ? std::optional(Piece{.bytes = greeting->size()}) : std::nullopt;
  }
  const auto body = wire::parse_frame(said, wire::response_bytes_max).value();
  if (!body) return std::nullopt;
  Piece piece{.bytes = wire::frame_head_bytes + body->size()};
  if (!by_client) {
    piece.answer = wire::parse_response(*body).value().id;
  } else if (const wire::Request request = wire::parse_request(*body).value();
             request.operation != wire::Operation::cancel) {
    piece.request = request.id;
  }
  return piece;
}

// ---- Redis

void RedisBackend::restart(int signal) {
  server_.signal(signal);
  server_.end();
  server_.start();
}

// A command is the number of its words, then each word after its length ("*1\r\n$4\r\nPING\r\n"); an answer is passed
// on as it comes.
std::optional<StoreBackend::Piece> RedisBackend::first_piece(std::string_view said, bool by_client, bool) const {
  if (said.empty()) return std::nullopt;
  if (!by_client) return Piece{.bytes = said.size(), .answer = 0};
  std::size_t at = 0;
  const auto number = [&]() -> std::optional<std::size_t> {
    const std::size_t end = said.find("\r\n", at);
    if (end == said.npos) return std::nullopt;
    std::size_t value = 0;
    std::from_chars(said.data() + at + 1, said.data() + end, value);
    at = end + 2;
    return value;
  };
  const auto words = number();
  for (std::size_t word = 0; words && word < *words; ++word) {
    const auto bytes = number();
    if (!bytes) return std::nullopt;
    at += *bytes + 2;
  }
  if (!words || at > said.size()) return std::nullopt;
  return Piece{.bytes = at, .request = 0};
}

}  // namespace hocket::process_testing
