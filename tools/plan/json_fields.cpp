#include "tools/plan/json_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "src/plan/network.hpp"

namespace hocket {

using nlohmann::json;

void Fields::number(const std::string& name, double& into, double unit) {
  const json* found = take(name);
  if (found == nullptr) return;
  if (!found->is_number()) return complain(name, "is not a number");
  into = found->get<double>() * unit;
}

void Fields::truth(const std::string& name, bool& into) {
  const json* found = take(name);
  if (found == nullptr) return;
  if (!found->is_boolean()) return complain(name, "is neither true nor false");
  into = found->get<bool>();
}

void Fields::count(const std::string& name, Rank& into) {
  const json* found = take(name);
  if (found == nullptr) return;
  if (!found->is_number_integer() || found->get<double>() < 0 || found->get<double>() > group_ranks_max) {
    return complain(name, fmt::format("is not a whole number from 0 to {}", group_ranks_max));
  }
  into = found->get<Rank>();
}

const json* Fields::take(const std::string& name) {
  known_.push_back(name);
  const auto found = object_.find(name);
  return found == object_.end() ? nullptr : &*found;
}

void Fields::complain(const std::string& name, const std::string& what) {
  if (!problem_.empty()) return;
  problem_ = what;
  field_ = path_.empty() ? name : fmt::format("{}.{}", path_, name);
}

FieldProblem Fields::problem() {
  for (const auto& [name, value] : object_.items()) {
    if (std::ranges::find(known_, name) != known_.end()) continue;
    std::string names;
    for (const std::string& known : known_) names += fmt::format(", {}", known);
    complain(name, fmt::format("is not a field; there are {}", names.substr(2)));
  }
  if (problem_.empty()) return std::nullopt;
  return std::pair{field_, problem_};
}

// "slow" and 2 for "slow[2]". A name that has brackets by somebody's mistake has no index.
static std::pair<std::string_view, std::optional<std::size_t>> split_index(std::string_view part) {
  const std::size_t bracket = part.find('[');
  if (bracket == std::string_view::npos || !part.ends_with(']')) return {part, std::nullopt};
  const char* const last = part.data() + part.size() - 1;
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(part.data() + bracket + 1, last, index);
  if (error != std::errc() || end != last || index == SIZE_MAX) return {part, std::nullopt};
  return {part.substr(0, bracket), index};
}

std::size_t line_of(std::string_view text, std::string_view field) {
  std::size_t at = 0;
  while (!field.empty()) {
    const std::size_t end = std::min(field.find('.'), field.size());
    std::string_view part = field.substr(0, end);
    field.remove_prefix(std::min(end + 1, field.size()));
    std::size_t objects = 0;  // of a list, to pass
    if (const auto [name, index] = split_index(part); index) {
      objects = 1 + *index;
      part = name;
    }
    const std::size_t found = text.find(fmt::format("\"{}\"", part), at);
    if (found == std::string_view::npos) break;
    at = found;
    for (; objects > 0 && at < text.size(); --objects) at = std::min(text.find('{', at + 1), text.size());
  }
  return 1 + static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

Result<json> parse_json(std::string_view text, std::string_view name) {
  std::istringstream stream{std::string(text)};
  std::vector<std::set<std::string>> open;  // objects, with the fields that they have so far
  std::optional<Status> repeated;
  const auto watch = [&](int, json::parse_event_t event, const json& value) {
    if (event == json::parse_event_t::object_start) open.emplace_back();
    if (event == json::parse_event_t::object_end) open.pop_back();
    if (event != json::parse_event_t::key || open.back().insert(value.get<std::string>()).second || repeated) {
      return true;
    }
    const std::string_view so_far = text.substr(0, static_cast<std::size_t>(stream.tellg()));
    repeated =
        Status(Code::invalid_argument, fmt::format("{}, line {}: {} appears twice", name,
                                                   1 + std::ranges::count(so_far, '\n'), value.get<std::string>()));
    return true;
  };
  try {
    json parsed = json::parse(stream, watch);
    if (repeated) return *repeated;
    return parsed;
  } catch (const json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 3, column 5: …"
    const std::string_view said = error.what();
    const std::size_t begin = std::min(said.find("at line"), said.size());
    return Status(Code::invalid_argument, begin == said.size()
                                              ? fmt::format("{} holds a number that is too large", name)
                                              : fmt::format("{}: no JSON {}", name, said.substr(begin)));
  }
}

}  // namespace hocket
