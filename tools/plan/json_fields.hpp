// JSON that people write: fields read one by one, and what is wrong with them told by line and name.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/spi/status.hpp"

namespace hocket {

// Nothing where all is well; else a field and what is wrong with it.
using FieldProblem = std::optional<std::pair<std::string, std::string>>;

// Reads the fields of one object and complains about those that nobody asked for.
class Fields {
 public:
  // `path` is what the object is called in messages: "", "link" or "slow[2]".
  Fields(const nlohmann::json& object, std::string path) : object_(object), path_(std::move(path)) {}

  // Each leaves `into` as it is where the field is not there.
  void number(const std::string& name, double& into, double unit);
  void truth(const std::string& name, bool& into);
  void count(const std::string& name, Rank& into);
  // Null where there is none.
  const nlohmann::json* take(const std::string& name);
  void complain(const std::string& name, const std::string& what);
  FieldProblem problem();

 private:
  const nlohmann::json& object_;
  std::string path_;
  std::vector<std::string> known_;
  std::string field_, problem_;
};

// The line on which a field such as "link.latency_us" or "slow[2].factor" stands: each part is looked for after the
// one before. The last line that was found where the rest is not there.
std::size_t line_of(std::string_view text, std::string_view field);

// A repeated field is a mistake, which the parser would take without a word. `name` is that of the file, for messages.
Result<nlohmann::json> parse_json(std::string_view text, std::string_view name);

}  // namespace hocket
