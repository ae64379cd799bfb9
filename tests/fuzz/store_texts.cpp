// Texts that reach a store: its URL, requests for the metrics of its server, and what ranks report for its page.
#include <algorithm>

#include "src/store/endpoint.hpp"
#include "src/store/metrics.hpp"
#include "src/store/rank_reports.hpp"
#include "src/store/status_page.hpp"
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
  const std::string answer = store::http_answer(input, [] { return store::Metrics{.clients = 3}; });
  require(answer.empty() || answer.starts_with("HTTP/1.1 "));
  return answer.find("200 OK") != answer.npos;
}

bool run_report(std::string_view input) {
  const auto report = store::parse_report(input);
  if (!report) return false;
  for (const std::string& text :
       {report->job, report->name, report->group, report->process, report->broken, report->latest, report->waits_in}) {
    require_printable(text);
  }
  const store::Metrics metrics{.ranks = {*report}};
  const std::string page = store::status_page(metrics, report->date_ns);
  require(page.find("<script") == page.npos && page.ends_with("</html>\n"));
  require(std::ranges::count(metrics.text(), '\n') > 16);
  return true;
}

bool run(std::string_view input) {
  switch (choose(input, 3)) {
    case 0: return run_url(input);
    case 1: return run_request(input);
    default: return run_report(input);
  }
}

std::vector<std::string> seeds() {
  return {
      chosen(0, "tcp://node0:29500"),
      chosen(0, "tcp://[fe80::1%eth0]:1"),
      chosen(0, "file:///shared/job42"),
      chosen(0, "redis://me:se%63ret@node0:6379/2?prefix=a%20job/"),
      chosen(1, "GET /metrics HTTP/1.1\r\nHost: node0\r\n\r\n"),
      chosen(1, "GET /health HTTP/1.0\r\n\r\n"),
      chosen(1, "GET / HTTP/1.1\r\n\r\n"),
      chosen(2, R"({"hocket_report":1,"job":"a","name":"b","group":"0","rank":0,"size":2,"process":"p","date_ns":5,)"
                R"("broken":null,"calls":1,"operations":1,"bytes_sent":9,"bytes_received":9,"latest":{"call":"c",)"
                R"("number":1,"ended":true,"seconds":1.5},"waits":{"call":"d","number":2,"seconds":1,)"
                R"("awaited":[1]}})")};
}

}  // namespace

const Target store_texts{"store_texts", run, seeds};

}  // namespace hocket::fuzz
