#include "src/plan/direct/one_shot_work.hpp"

#include "src/plan/direct/staging.hpp"

namespace hocket {

DirectWork one_shot_output(const Exchange& exchange, std::uint32_t member, bool in_place) {
  const auto output = static_cast<double>(exchange.output_bytes(member));
  const std::uint32_t operands = exchange.operands_of(member);
  const bool keeps_own = in_place && output > 0 && exchange.input_bytes(member) > 0;
  if (!exchange.combines()) {
    return {.copied = output - (keeps_own ? static_cast<double>(exchange.block_bytes()) : 0)};
  }
  if (operands > 1) return {.combined = (operands - 1) * output};
  return {.copied = keeps_own && member == 0 ? 0 : output};  // the only operand is member 0's
}

DirectTerms one_shot_prefix(const Exchange& exchange, bool in_place) {
  const auto input = static_cast<double>(exchange.input_bytes(0));
  const bool in_line = input <= direct::inline_bytes_max;
  const std::uint32_t last = exchange.members() - 1;
  DirectTerms terms{.time_slices = 1.0 / static_cast<double>(direct::run_ahead_max)};
  for (std::uint32_t member = 0; member <= last; ++member) {
    DirectWork work = one_shot_output(exchange, member, in_place);
    work.lines = exchange.needed_by(member).count() * (in_line ? 1 : 2);
    if (!in_line) work.copied += input;
    if (member == last) {
      terms.root = work;
      break;
    }
    terms.other.lines += work.lines / last;
    terms.other.copied += work.copied / last;
    terms.other.combined += work.combined / last;
  }
  return terms;
}

}  // namespace hocket
