#include "src/store/open_store.hpp"
#include "src/store/store_server.hpp"
#include "tests/conformance/store_meeting_suite.hpp"
#include "tests/process/program.hpp"
#include "tests/support/certificates.hpp"

namespace hocket {
namespace {

// Two clients of one server.
struct TcpBackend {
  explicit TcpBackend(const Trust& trust = {}) {
    auto started = StoreServer::start("127.0.0.1", 0, {.trust = trust});
    if (!started) throw std::runtime_error(started.status().message());
    server = std::move(*started);
    for (auto* store : {&one, &two}) {
      auto opened = open_store(server->url(), generous(), {}, trust);
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
INSTANTIATE_TYPED_TEST_SUITE_P(Tcp, StoreMeetingSuite, TcpBackend);

// The same where both sides prove that they know a secret.
struct SecretTcpBackend : TcpBackend {
  SecretTcpBackend() : TcpBackend({.secret = "what the ranks of this job know"}) {}
};
INSTANTIATE_TYPED_TEST_SUITE_P(SecretTcp, StoreSuite, SecretTcpBackend);
INSTANTIATE_TYPED_TEST_SUITE_P(SecretTcp, StoreMeetingSuite, SecretTcpBackend);

// And over TLS.
TlsIdentity identity() {
  const TemporaryFolder folder;
  const auto files = testing_support::Authority(folder.path(), "authority").sign("store");
  return TlsIdentity::load(files.certificate, files.key, files.authority).value();
}
struct TlsTcpBackend : TcpBackend {
  TlsTcpBackend() : TcpBackend({.tls = identity()}) {}
};
INSTANTIATE_TYPED_TEST_SUITE_P(TlsTcp, StoreSuite, TlsTcpBackend);
INSTANTIATE_TYPED_TEST_SUITE_P(TlsTcp, StoreMeetingSuite, TlsTcpBackend);

}  // namespace
}  // namespace hocket
