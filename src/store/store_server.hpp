// The store's server: the whole of hocket-store, and what rank 0 embeds where no store is running.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/trust.hpp"
#include "src/spi/status.hpp"
#include "src/store/limits.hpp"

namespace hocket {

// Under this key a store that a rank serves for its job says which job that is.
inline constexpr std::string_view meeting_point_key = "hocket/meeting point";

struct StoreServerOptions {
  std::chrono::milliseconds greeting_timeout{10'000};  // a connection that has not greeted by then is refused
  std::string meeting_point = {};                      // what the store holds under that key; empty: nothing
  Trust trust = {};         // with neither a secret nor `insecure`: of clients of this host and user alone
  std::size_t members = 0;  // of the job whose rank serves this store: so many clients may come whatever the limits say
  std::vector<std::string> besides = {};  // other addresses of this machine on which it listens, at the same port
  store::ServerLimits limits = {};
  // Where GET /health and GET /metrics are answered over HTTP; nothing: nowhere. Port 0: the system chooses.
  std::optional<std::uint16_t> metrics_port = {};
  std::string metrics_host = "127.0.0.1";
  // A file from which the server takes what it holds at first, and into which it writes that at its end, and now and
  // then before; empty: none.
  std::string snapshot = {};
};

// One thread serves all clients; signals go to other threads. Where there are as many as there may be, a new client
// takes the place of one that has not greeted, or else of one that has asked for nothing for a while, owns no key and
// waits for none; where there is no such client either, the new one is refused in words, also where this process has no
// descriptor left for it. What does not speak the protocol is refused, with one line in the log for each address that
// it comes from. All functions may be called from any thread.
class StoreServer {
 public:
  // Listens on every address of `host` ("127.0.0.1", "::1", "localhost", a name of this machine; "0.0.0.0" and "::" for
  // all interfaces, the latter for IPv4 too). Port 0: the system chooses. Errors: address_in_use; invalid_environment
  // where the host is none of this machine's; out_of_resources.
  static Result<std::unique_ptr<StoreServer>> start(const std::string& host, std::uint16_t port,
                                                    const StoreServerOptions& options = {});
  // Stops: clients that wait, or call later, get store_unreachable.
  ~StoreServer();

  std::uint16_t port() const;
  // 0: nowhere.
  std::uint16_t metrics_port() const;
  // "tcp://host:port", with the host as given to start().
  std::string url() const;
  // Clients that are connected and were welcomed.
  std::size_t clients() const;
  // Waits until there are none, and at least `welcomed` have been here. False: the deadline passed first, or `stop` was
  // requested.
  bool wait_until_no_clients(Deadline deadline, std::size_t welcomed = 0, const std::stop_token& stop = {}) const;
  // Why a client was turned away that this process has no descriptor for; ok: none was.
  Status starved() const;
  // From now on clients, also those that are there, are told that this process lacks descriptors: they end with
  // out_of_resources and what `why` says.
  void turn_all_away(const std::string& why);

 private:
  class Implementation;
  explicit StoreServer(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace hocket
