#include "src/store/metrics.hpp"

#include <fmt/format.h>

namespace hocket::store {
namespace {

constexpr std::size_t head_bytes_max = 8192;

std::string answer(std::string_view status, std::string_view text) {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\n"
      "Connection: close\r\n\r\n{}",
      status, text.size(), text);
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
         line("evictions_total", "counter", "Clients that were ended to make room for others.", evictions);
}

std::string http_answer(std::string_view head, const Metrics& metrics) {
  if (head.size() > head_bytes_max) return answer("431 Request Header Fields Too Large", "too long\n");
  if (head.find("\r\n\r\n") == std::string_view::npos) return {};
  const std::string_view line = head.substr(0, head.find("\r\n"));
  if (!line.starts_with("GET ")) return answer("405 Method Not Allowed", "GET only\n");
  const std::string_view target = line.substr(4, line.find(' ', 4) - 4);
  if (target == "/health") return answer("200 OK", "ok\n");
  if (target == "/metrics") return answer("200 OK", metrics.text());
  return answer("404 Not Found", "there are /health and /metrics\n");
}

}  // namespace hocket::store
