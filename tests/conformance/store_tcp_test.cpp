#include "src/store/open_store.hpp"
#include "src/store/store_server.hpp"
#include "tests/conformance/store_suite.hpp"

namespace hocket {
namespace {

// Two clients of one server.
struct TcpBackend {
  TcpBackend() {
    auto started = StoreServer::start("127.0.0.1", 0);
    if (!started) throw std::runtime_error(started.status().message());
    server = std::move(*started);
    for (auto* store : {&one, &two}) {
      auto opened = open_store(server->url(), generous());
      if (!opened) throw std::runtime_error(opened.status().message());
      *store = std::move(*opened);
    }
  }
  Store& first() { return *one; }
  Store& second() { return *two; }

  std::unique_ptr<StoreServer> server;
  std::unique_ptr<Store> one, two;
};
INSTANTIATE_TYPED_TEST_SUITE_P(Tcp, StoreSuite, TcpBackend);

}  // namespace
}  // namespace hocket
