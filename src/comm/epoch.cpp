#include "src/comm/epoch.hpp"

#include <fmt/format.h>

#include <iterator>
#include <sstream>

#include "src/base/failure_code.hpp"
#include "src/base/printable.hpp"

namespace hocket::comm {
namespace {

std::string rest_of(std::istringstream& fields) {
  fields >> std::ws;
  return std::string(std::istreambuf_iterator<char>(fields), {});
}

}  // namespace

std::string Epoch::serialise() const {
  return fmt::format("{} size {} group {}", number, size, group);
}

std::optional<Epoch> Epoch::parse(std::string_view text) {
  Epoch epoch;
  std::istringstream fields{std::string(text)};
  std::string size, group;
  fields >> epoch.number >> size >> epoch.size >> group >> epoch.group;
  const bool whole = fields && fields.peek() == std::istringstream::traits_type::eof();
  if (!whole || size != "size" || group != "group" || epoch.number == 0 || epoch.size < 1) return std::nullopt;
  return epoch;
}

std::string Verdict::failed(const Status& why) {
  return fmt::format("failed {} {} {}", static_cast<int>(why.code()), why.ok() ? no_rank : why.cause().peer,
                     why.message());
}

Verdict Verdict::parse(std::string_view text) {
  if (text == complete()) return {.kind = Kind::complete, .why = {}};
  if (text == superseded()) return {.kind = Kind::superseded, .why = {}};
  std::istringstream fields{std::string(text)};
  std::string word;
  int code = 0;
  Rank peer = no_rank;
  fields >> word >> code >> peer;
  const bool known = fields && word == "failed" && is_failure(code);
  const std::string message = known ? rest_of(fields) : std::string(text);
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
  std::istringstream fields{std::string(text)};
  fields >> claim.token >> claim.beat;
  if (!fields) return std::nullopt;
  auto process = ProcessIdentity::parse(rest_of(fields));
  if (!process) return std::nullopt;
  claim.process = std::move(*process);
  return claim;
}

}  // namespace hocket::comm
