// hocket-store: the rendezvous store as a program of its own.
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>

#include "src/store/endpoint.hpp"
#include "src/store/store_server.hpp"
#include "tools/arguments.hpp"
#include "tools/guarded_main.hpp"

namespace {

// Every client takes a file descriptor, and the usual limit is 1,024.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);  // where it fails, the server says so when it runs out
}

int serve(const std::string& bind, std::uint16_t port, hocket::StoreServerOptions options) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);  // taken below, by sigwait
  raise_descriptor_limit();
  auto trust = hocket::Trust::from_environment();
  if (!trust) {
    fmt::print(stderr, "hocket-store: {}\n", trust.status().message());
    return 1;
  }
  options.trust = std::move(*trust);
  const auto server = hocket::StoreServer::start(bind, port, options);
  if (!server) {
    fmt::print(stderr, "hocket-store: {}\n", server.status().message());
    return 1;
  }
  fmt::print("hocket-store listening on {}\n", hocket::store::host_and_port(bind, (*server)->port()));
  if (options.metrics_port) {
    fmt::print("hocket-store metrics at http://{}/metrics\n",
               hocket::store::host_and_port(options.metrics_host, (*server)->metrics_port()));
  }
  std::fflush(stdout);
  int taken = 0;
  sigwait(&ends, &taken);
  return 0;
}

int run(int argc, char** argv) {
  std::string bind = "127.0.0.1";
  int port = 29500;
  hocket::StoreServerOptions options;
  auto& limits = options.limits;
  CLI::App app{
      "The rendezvous store of Hocket: ranks find each other through it. It keeps its data in memory, serves until "
      "SIGTERM or SIGINT. Clients prove that they know its secret, HOCKET_SECRET or the file HOCKET_SECRET_FILE. "
      "Without "
      "one it trusts this user's processes on this host alone, or with HOCKET_INSECURE=1 everyone who can reach it.",
      "hocket-store"};
  app.add_option("--bind", bind, "address to listen on; 0.0.0.0 or :: for all interfaces")->capture_default_str();
  app.add_option("--port", port, "port to listen on; 0: any free one, printed on standard output")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  app.add_option("--snapshot", options.snapshot,
                 "file that keeps what the store holds from one start to the next, as far as no client owns it");
  app.add_option(
      "--metrics", options.metrics_port,
      "port on which GET / (a page), GET /metrics (for Prometheus) and GET /health are answered; 0: any free one, "
      "printed");
  app.add_option("--metrics-bind", options.metrics_host, "address for that")->capture_default_str();
  app.add_option("--max-clients", limits.clients,
                 "clients that may be connected; 0: as many as leave an eighth of the file descriptors free")
      ->capture_default_str();
  app.add_option("--max-keys", limits.dictionary.keys, "keys that the store may hold")->capture_default_str();
  app.add_option("--max-bytes", limits.dictionary.bytes, "bytes of keys and values, with 256 for keeping each key")
      ->capture_default_str();
  if (const auto ending = hocket::arguments::parse(app, argc, argv)) return hocket::arguments::show(*ending);
  try {
    return serve(bind, static_cast<std::uint16_t>(port), options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "hocket-store: {}\n", error.what());
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  return hocket::guarded_main("hocket-store", argc, argv, run);
}
