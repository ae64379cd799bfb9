// Texts that reach a store: its URL, and requests for the metrics of its server.
#include "src/store/endpoint.hpp"
#include "src/store/metrics.hpp"
#include "src/store/store_url.hpp"
#include "tests/fuzz/target.hpp"

namespace hocket::fuzz {
namespace {

bool run_url(std::string_view input) {
  const auto url = store::parse_store_url(input);
  if (!url) {
    require_printable(url.status().message());
    return false;
  }
  require(url->host.empty() != url->path.empty());
  if (url->host.empty()) {
    require("file://" + url->path == input);
    return true;
  }
  if (url->redis) return true;
  // As a server writes it, which leaves out zeros before the port and needless brackets.
  const auto again = store::parse_store_url("tcp://" + store::host_and_port(url->host, url->port));
  require(again.ok() && again->host == url->host && again->port == url->port);
  return true;
}

bool run_request(std::string_view input) {
  const std::string answer = store::http_answer(input, {.clients = 3});
  require(answer.empty() || answer.starts_with("HTTP/1.1 "));
  return answer.find("200 OK") != answer.npos;
}

bool run(std::string_view input) {
  return choose(input, 2) == 0 ? run_url(input) : run_request(input);
}

std::vector<std::string> seeds() {
  return {chosen(0, "tcp://node0:29500"),
          chosen(0, "tcp://[fe80::1%eth0]:1"),
          chosen(0, "file:///shared/job42"),
          chosen(0, "redis://me:se%63ret@node0:6379/2?prefix=a%20job/"),
          chosen(1, "GET /metrics HTTP/1.1\r\nHost: node0\r\n\r\n"),
          chosen(1, "GET /health HTTP/1.0\r\n\r\n")};
}

}  // namespace

const Target store_texts{"store_texts", run, seeds};

}  // namespace hocket::fuzz
