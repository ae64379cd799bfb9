#include "tools/plan/json_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "src/plan/network.hpp"

namespace hocket {

using nlohmann::json;

void Fields::number(const std::string& name, double& into, double unit) {
  const json* found = take(name);
  if (found == nullptr) return;
  if (!found->is_number()) return complain(name, "is no number");
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
  if (!found->is_number_integer() || found->get<double>() < 0 || found->get<double>() > network_ranks_max) {
    return complain(name, fmt::format("is no whole number from 0 to {}", network_ranks_max));
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
    complain(name, fmt::format("is no field; there are {}", names.substr(2)));
  }
  if (problem_.empty()) return std::nullopt;
  return std::pair{field_, problem_};
}

std::size_t line_of(std::string_view text, std::string_view field) {
  std::size_t at = 0;
  while (!field.empty()) {
    const std::size_t end = std::min(field.find('.'), field.size());
    std::string_view part = field.substr(0, end);
    field.remove_prefix(std::min(end + 1, field.size()));
    std::size_t objects = 0;  // of a list, to pass
    if (const std::size_t bracket = part.find('['); bracket != std::string_view::npos) {
      objects = 1 + static_cast<std::size_t>(std::stoul(std::string(part.substr(bracket + 1))));
      part = part.substr(0, bracket);
    }
    const std::size_t found = text.find(fmt::format("\"{}\"", part), at);
    if (found == std::string_view::npos) break;
    at = found;
    for (; objects > 0; --objects) at = std::min(text.find('{', at + 1), text.size());
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
        Status(Code::invalid_argument, fmt::format("{}, line {}: {} stands there twice", name,
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
