// A hocket-store behind a proxy that ends it at a request of its clients' and starts it again: as often as a test wants
// to know what becomes of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/base/fd.hpp"
#include "tests/process/support/store_daemon.hpp"

namespace hocket::process_testing {

class StoreProxy {
 public:
  enum class Moment { request, answer };
  struct Loss {
    int request = 0;                  // of all clients' since the last serve(), from 0
    Moment moment = Moment::request;  // before the daemon has that request, or before the client has its answer
    int signal = 0;                   // that ends the daemon
  };

  explicit StoreProxy(std::vector<std::string> daemon_options);
  std::string url() const { return "tcp://127.0.0.1:" + std::to_string(port_); }
  // Passes on what clients and daemon say until `done`. Whether the loss has happened.
  bool serve(const std::optional<Loss>& loss, const std::function<bool()>& done);

 private:
  struct Side {
    UniqueFd socket;
    bool greeted = false;
    std::string received;
  };
  // One client with its connection to the daemon.
  struct Pair {
    Side client, daemon;
    std::optional<std::uint64_t> last_answer;  // after which the daemon is lost
  };

  void start();
  void lose();
  void accept();
  // False: the pair has ended.
  bool pass_on(Pair& pair, bool from_client);
  bool take_frame(Pair& pair, bool from_client, std::string_view body);

  std::vector<std::string> options_;
  std::unique_ptr<Daemon> daemon_;
  std::uint16_t daemon_port_ = 0, port_ = 0;
  UniqueFd listener_;
  std::vector<std::unique_ptr<Pair>> pairs_;
  std::optional<Loss> loss_;
  bool loses_now_ = false, lost_ = false;
  int requests_ = 0;
};

}  // namespace hocket::process_testing
