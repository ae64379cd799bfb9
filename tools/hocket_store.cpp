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

int serve(const std::string& bind, std::uint16_t port) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);  // taken below, by sigwait
  raise_descriptor_limit();
  const auto server = hocket::StoreServer::start(bind, port);
  if (!server) {
    fmt::print(stderr, "hocket-store: {}\n", server.status().message());
    return 1;
  }
  fmt::print("hocket-store listening on {}\n", hocket::store::host_and_port(bind, (*server)->port()));
  std::fflush(stdout);
  int taken = 0;
  sigwait(&ends, &taken);
  return 0;
}

int run(int argc, char** argv) {
  std::string bind = "127.0.0.1";
  int port = 29500;
  CLI::App app{
      "The rendezvous store of Hocket: ranks find each other through it. It keeps its data in memory, serves until "
      "SIGTERM or SIGINT, and trusts everyone who can reach its address.",
      "hocket-store"};
  app.add_option("--bind", bind, "address to listen on; 0.0.0.0 or :: for all interfaces")->capture_default_str();
  app.add_option("--port", port, "port to listen on; 0: any free one, printed on standard output")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  if (const auto ending = hocket::arguments::parse(app, argc, argv)) return hocket::arguments::show(*ending);
  try {
    return serve(bind, static_cast<std::uint16_t>(port));
  } catch (const std::exception& error) {
    fmt::print(stderr, "hocket-store: {}\n", error.what());
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  return hocket::guarded_main("hocket-store", argc, argv, run);
}
