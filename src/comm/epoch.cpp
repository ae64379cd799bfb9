#include "src/comm/epoch.hpp"

#include <fmt/format.h>

#include "src/base/failure_code.hpp"
#include "src/base/printable.hpp"
#include "src/base/words.hpp"

namespace hocket::comm {
std::string Epoch::serialise() const {
  return fmt::format("{} size {} group {} leader {}", number, size, group, leader.serialise());
}

std::optional<Epoch> Epoch::parse(std::string_view text) {
  Epoch epoch;
  Words fields(text);
  epoch.number = fields.number<std::uint64_t>();
  const std::string_view size = fields.word();
  epoch.size = fields.number<Rank>();
  const std::string_view group = fields.word();
  epoch.group = fields.number<std::uint64_t>();
  const std::string_view leader = fields.word();
  if (!fields.ok() || size != "size" || group != "group" || leader != "leader" || epoch.number == 0 || epoch.size < 1) {
    return std::nullopt;
  }
  auto process = ProcessIdentity::parse(fields.rest());
  if (!process) return std::nullopt;
  epoch.leader = std::move(*process);
  return epoch;
}

std::string Verdict::failed(const Status& why) {
  return fmt::format("failed {} {} {}", static_cast<int>(why.code()), why.ok() ? no_rank : why.cause().peer,
                     why.message());
}

Verdict Verdict::parse(std::string_view text) {
  if (text == complete()) return {.kind = Kind::complete, .why = {}};
  if (text == superseded()) return {.kind = Kind::superseded, .why = {}};
  Words fields(text);
  const std::string_view word = fields.word();
  const auto code = fields.number<std::uint64_t>();
  const auto peer = fields.number<Rank>();
  const bool known = fields.ok() && word == "failed" && is_failure(code);
  const std::string message(known ? fields.rest() : text);
  return {.kind = Kind::failed,
          .why = Status(Cause{.code = known ? static_cast<Code>(code) : Code::protocol_error,
                              .message = fmt::format("another rank could not join: {}", printable(message)),
                              .peer = known && peer >= 0 ? peer : no_rank})};
}

std::string Claim::serialise() const {
  return fmt::format("{} {} {}", token, beat, process.serialise());
}

std::optional<Claim> Claim::parse(std::string_view text) {
  Claim claim;
  Words fields(text);
  claim.token = fields.number<std::uint64_t>();
  claim.beat = fields.number<std::uint64_t>();
  if (!fields.ok()) return std::nullopt;
  auto process = ProcessIdentity::parse(fields.rest());
  if (!process) return std::nullopt;
  claim.process = std::move(*process);
  return claim;
}

}  // namespace hocket::comm
