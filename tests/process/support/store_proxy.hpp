// A store's server behind a proxy that ends it at a request of its clients' and starts it again: as often as a test
// wants to know what becomes of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/base/fd.hpp"
#include "tests/process/support/store_backends.hpp"

namespace hocket::process_testing {

class StoreProxy {
 public:
  enum class Moment { request, answer };
  struct Loss {
    int request = 0;                  // of all clients' since the last serve(), from 0
    Moment moment = Moment::request;  // before the server has that request, or before the client has its answer
    int signal = 0;                   // that ends the server
  };

  explicit StoreProxy(std::unique_ptr<StoreBackend> backend);
  std::string url() const { return backend_->url(port_); }
  // Passes on what clients and server say until `done`. Whether the loss has happened.
  bool serve(const std::optional<Loss>& loss, const std::function<bool()>& done);

 private:
  struct Side {
    UniqueFd socket;
    bool begins = true;  // nothing of it has been passed on
    std::string received;
  };
  // One client with its connection to the server.
  struct Pair {
    Side client, server;
    std::optional<std::uint64_t> last_answer;  // after which the server is lost
  };

  void lose();
  void accept();
  // False: the pair has ended.
  bool pass_on(Pair& pair, bool from_client);
  bool take(Pair& pair, const StoreBackend::Piece& piece);

  const std::unique_ptr<StoreBackend> backend_;
  std::uint16_t port_ = 0;
  UniqueFd listener_;
  std::vector<std::unique_ptr<Pair>> pairs_;
  std::optional<Loss> loss_;
  bool loses_now_ = false, lost_ = false;
  int requests_ = 0;
};

}  // namespace hocket::process_testing
