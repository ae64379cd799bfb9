#include "src/store/keys.hpp"

#include <fmt/format.h>

namespace hocket::store {

Status check_key(std::string_view key) {
  if (key.empty()) return {Code::invalid_argument, "a store key must not be empty"};
  return check_prefix(key);
}

Status check_prefix(std::string_view prefix) {
  if (prefix.size() <= store_key_bytes_max) return {};
  return {Code::invalid_argument, fmt::format("the store key {} has {} bytes, but {} is the most; shorten it",
                                              in_quotes(prefix), prefix.size(), store_key_bytes_max)};
}

Status check_value(std::string_view value) {
  if (value.size() <= store_value_bytes_max) return {};
  return {Code::invalid_argument,
          fmt::format("a store value has {} bytes, but {} is the most; split it over several keys", value.size(),
                      store_value_bytes_max)};
}

std::string in_quotes(std::string_view key) {
  constexpr std::size_t shown_max = 64;
  std::string text = "\"";
  for (const char letter : key.substr(0, shown_max)) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte >= 0x20 && byte < 0x7f && letter != '"' && letter != '\\') {
      text += letter;
    } else {
      text += fmt::format("\\x{:02x}", byte);
    }
  }
  text += key.size() > shown_max ? "…\"" : "\"";
  return text;
}

Status call_timed_out(std::string_view call, std::string_view key, std::string_view url) {
  return {Code::timeout, fmt::format("the deadline of {} {} passed before the store {} could do it; allow more time",
                                     call, in_quotes(key), url)};
}

Status get_timed_out(std::string_view key, std::string_view url, Deadline::Clock::time_point began) {
  const std::chrono::duration<double> waited = Deadline::Clock::now() - began;
  return {Code::timeout,
          fmt::format("nobody set the key {} in the store {} within {:.3f} s; see whether its owner is alive, or allow "
                      "more time",
                      in_quotes(key), url, waited.count())};
}

}  // namespace hocket::store
