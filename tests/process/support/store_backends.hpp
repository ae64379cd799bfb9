// Stores that a StoreProxy stands in front of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/process/support/store_daemon.hpp"
#include "tests/support/redis_server.hpp"

namespace hocket::process_testing {

class StoreBackend {
 public:
  // The beginning of what one side has said.
  struct Piece {
    std::size_t bytes = 0;
    std::optional<std::uint64_t> request = {};  // a client's; its number on this connection
    std::optional<std::uint64_t> answer = {};   // the server's, to that one
  };

  virtual ~StoreBackend() = default;
  virtual std::string url(std::uint16_t port) const = 0;
  virtual std::uint16_t port() const = 0;
  // Ends the server by this signal and starts it again on the same port.
  virtual void restart(int signal) = 0;
  // Nothing: more has to come first. `begins`: nothing of this side has been taken yet.
  virtual std::optional<Piece> first_piece(std::string_view said, bool by_client, bool begins) const = 0;
};

class HocketStoreBackend final : public StoreBackend {
 public:
  explicit HocketStoreBackend(std::vector<std::string> options);

  std::string url(std::uint16_t port) const override { return "tcp://127.0.0.1:" + std::to_string(port); }
  std::uint16_t port() const override { return port_; }
  void restart(int signal) override;
  std::optional<Piece> first_piece(std::string_view said, bool by_client, bool begins) const override;

 private:
  void start();

  const std::vector<std::string> options_;
  std::unique_ptr<Daemon> daemon_;
  std::uint16_t port_ = 0;
};

// Each client of it waits for one answer after the other.
class RedisBackend final : public StoreBackend {
 public:
  std::string url(std::uint16_t port) const override { return "redis://127.0.0.1:" + std::to_string(port); }
  std::uint16_t port() const override { return static_cast<std::uint16_t>(server_.port()); }
  void restart(int signal) override;
  std::optional<Piece> first_piece(std::string_view said, bool by_client, bool begins) const override;

 private:
  RedisServer server_;
};

}  // namespace hocket::process_testing
