#include "src/store/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "src/store/status_page.hpp"

namespace hocket::store {
namespace {

constexpr std::size_t head_bytes_max = 8192;

constexpr std::string_view plain = "text/plain; version=0.0.4; charset=utf-8";
constexpr std::string_view page = "text/html; charset=utf-8";

// A page may load nothing and run nothing, whatever it holds.
std::string answer(std::string_view status, std::string_view text, std::string_view type = plain) {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n"
      "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\nX-Content-Type-Options: nosniff\r\n"
      "Connection: close\r\n\r\n{}",
      status, type, text.size(), text);
}

std::int64_t date_now() {
  return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string label(std::string_view text) {
  std::string safe;
  for (const char letter : text) {
    if (letter == '\\' || letter == '"') safe += '\\';
    safe += letter;  // there are no ends of lines in what is printable
  }
  return safe;
}

// What one of several families of metrics tells of a rank.
struct Family {
  std::string_view name, type, help;
  double (*value)(const ReportedGroup& group, const RankReport& report, std::int64_t date_ns);
};

constexpr Family families[] = {
    {"operations_total", "counter", "Operations that have ended.",
     [](const ReportedGroup&, const RankReport& report, std::int64_t) {
       return static_cast<double>(report.operations);
     }},
    {"bytes_sent_total", "counter", "Bytes of payload sent.",
     [](const ReportedGroup&, const RankReport& report, std::int64_t) {
       return static_cast<double>(report.bytes_sent);
     }},
    {"bytes_received_total", "counter", "Bytes of payload received over links.",
     [](const ReportedGroup&, const RankReport& report, std::int64_t) {
       return static_cast<double>(report.bytes_received);
     }},
    {"waiting_seconds", "gauge", "How long its first waiting call has waited; 0: none has waited for a while.",
     [](const ReportedGroup&, const RankReport& report, std::int64_t) { return report.waited_seconds; }},
    {"awaited_by", "gauge", "How many ranks say that they wait for it.",
     [](const ReportedGroup& group, const RankReport& report, std::int64_t) {
       return static_cast<double>(group.who_waits_for(report.rank).size());
     }},
    {"broken", "gauge", "Whether its communicator has broken.",
     [](const ReportedGroup&, const RankReport& report, std::int64_t) { return report.broken.empty() ? 0.0 : 1.0; }},
    {"report_age_seconds", "gauge", "Since its latest report, by the clocks of both hosts.",
     [](const ReportedGroup&, const RankReport& report, std::int64_t date_ns) {
       return std::max(0.0, (static_cast<double>(date_ns) - static_cast<double>(report.date_ns)) / 1e9);
     }},
};

std::string text_of_ranks(const std::vector<ReportedGroup>& groups, std::int64_t date_ns) {
  std::string text =
      fmt::format("# HELP hocket_groups Groups of which ranks report.\n# TYPE hocket_groups gauge\nhocket_groups {}\n",
                  groups.size());
  for (const Family& family : families) {
    if (groups.empty()) break;
    text +=
        fmt::format("# HELP hocket_rank_{0} {1}\n# TYPE hocket_rank_{0} {2}\n", family.name, family.help, family.type);
    for (const ReportedGroup& group : groups) {
      for (const auto& [rank, report] : group.ranks()) {
        text += fmt::format("hocket_rank_{}{{job=\"{}\",communicator=\"{}\",group=\"{}\",rank=\"{}\"}} {}\n",
                            family.name, label(report.job), label(report.name), label(report.group), rank,
                            family.value(group, report, date_ns));
      }
    }
  }
  return text;
}

}  // namespace

std::string Metrics::text() const {
  const auto line = [](std::string_view name, std::string_view type, std::string_view help, std::uint64_t value) {
    return fmt::format("# HELP hocket_store_{0} {2}\n# TYPE hocket_store_{0} {1}\nhocket_store_{0} {3}\n", name, type,
                       help, value);
  };
  return line("clients", "gauge", "Clients that are connected.", clients) +
         line("keys", "gauge", "Keys that the store holds.", keys) +
         line("bytes", "gauge", "Bytes of keys and values, as they count towards the limit.", bytes) +
         line("waiting_requests", "gauge", "Requests that wait for keys.", waiting) +
         line("requests_total", "counter", "Requests taken.", requests) +
         line("connections_total", "counter", "Connections accepted.", connections) +
         line("refusals_total", "counter", "Connections that broke the protocol or found no room.", refusals) +
         line("evictions_total", "counter", "Clients that were ended to make room for others.", evictions) +
         text_of_ranks(group_reports(ranks), date_now());
}

std::string http_answer(std::string_view head, const std::function<Metrics()>& measure) {
  if (head.size() > head_bytes_max) return answer("431 Request Header Fields Too Large", "too long\n");
  if (head.find("\r\n\r\n") == std::string_view::npos) return {};
  const std::string_view line = head.substr(0, head.find("\r\n"));
  if (!line.starts_with("GET ")) return answer("405 Method Not Allowed", "GET only\n");
  const std::string_view target = line.substr(4, line.find(' ', 4) - 4);
  if (target == "/health") return answer("200 OK", "ok\n");
  if (target == "/metrics") return answer("200 OK", measure().text());
  if (target == "/") return answer("200 OK", status_page(measure(), date_now()), page);
  return answer("404 Not Found", "there are /, /health and /metrics\n");
}

}  // namespace hocket::store
