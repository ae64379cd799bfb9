// What the caller of a join wants, as a value.
#include <fmt/format.h>

#include <algorithm>

#include "src/base/environment.hpp"
#include "src/base/sized_struct.hpp"
#include "src/comm/join.hpp"

namespace hocket::comm {
namespace {

constexpr std::size_t point_name_max = 128;

Status check_options(const hocket_join_options& given) {
  const auto wrong = [](const char* field, std::int64_t value, const char* rule) {
    return Status(Code::invalid_argument, fmt::format("join.{} is {}; it must be {}", field, value, rule));
  };
  if (given.timeout_ms < 0) return wrong("timeout_ms", given.timeout_ms, "positive, or 0 for the default");
  if (given.newcomers_min < 0) return wrong("newcomers_min", given.newcomers_min, "0 or more");
  if (given.newcomers_max < 0 || (given.newcomers_max > 0 && given.newcomers_max < given.newcomers_min)) {
    return wrong("newcomers_max", given.newcomers_max, "at least newcomers_min, or 0 for that");
  }
  if (given.newcomers_min == 0 && given.newcomers_max == 0) {
    return {Code::invalid_argument, "join.newcomers_min and join.newcomers_max are both 0: nobody could join"};
  }
  if (given.point != nullptr && (*given.point == '\0' || std::string_view(given.point).size() > point_name_max)) {
    return {Code::invalid_argument, "join.point must have 1 … 128 characters"};
  }
  return {};
}

}  // namespace

Result<JoinRequest> join_request(const hocket_join_options* join, const hocket_comm_options* options,
                                 std::optional<Rank> rank) {
  const hocket_join_options usual = HOCKET_JOIN_OPTIONS_INIT;
  const auto given = read_sized(join == nullptr ? &usual : join);
  if (!given) {
    return Status(Code::invalid_argument, "join.struct_size is wrong: begin with HOCKET_JOIN_OPTIONS_INIT");
  }
  if (Status sound = check_options(*given); !sound.ok()) return sound;
  const hocket_comm_options nothing = HOCKET_COMM_OPTIONS_INIT;
  auto copy = read_sized(options == nullptr ? &nothing : options);
  if (!copy) {
    return Status(Code::invalid_argument, "options.struct_size is wrong: begin with HOCKET_COMM_OPTIONS_INIT");
  }
  copy->world_size = 2;  // how many there will be is not known yet, but more than one
  copy->rank = rank == 0 ? 0 : 1;
  auto resolved = resolve_options(&*copy);
  if (!resolved.ok()) return resolved.status();
  if (resolved->store.empty() && !resolved->callbacks) {
    return Status(Code::invalid_environment,
                  "joining needs a store that does not end with a rank: start hocket-store and set HOCKET_STORE or "
                  "options.store to its address");
  }
  const auto point = environment::find({"HOCKET_JOINING_POINT"});
  const std::string name = given->point != nullptr ? given->point : point ? point->value : "default";
  if (name.size() > point_name_max) {
    return Status(Code::invalid_environment,
                  fmt::format("HOCKET_JOINING_POINT has {} characters; it may have {}", name.size(), point_name_max));
  }
  return JoinRequest{.options = *resolved,
                     .timeout = given->timeout_ms > 0 ? timeout_of(given->timeout_ms) : resolved->timeout,
                     .newcomers_min = given->newcomers_min,
                     .newcomers_max = std::max(given->newcomers_min, given->newcomers_max),
                     .point = name};
}

}  // namespace hocket::comm
