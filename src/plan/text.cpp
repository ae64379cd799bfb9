#include "src/plan/text.hpp"

#include <fmt/format.h>

namespace hocket {
namespace {

std::string numbers(std::uint32_t first, std::uint32_t count) {
  return count == 1 ? fmt::format("{}", first) : fmt::format("{}-{}", first, first + count - 1);
}

}  // namespace

std::string describe(const Range& range) {
  switch (range.space) {
    case Space::input: return "input " + numbers(range.chunk, range.count);
    case Space::output: return "output " + numbers(range.chunk, range.count);
    case Space::encoded: return fmt::format("encoded cell {} (chunk {})", range.cell, range.chunk);
    case Space::wide:
      return fmt::format("wide cell {} (chunk {})", numbers(range.cell, range.count),
                         numbers(range.chunk, range.count));
    case Space::scratch: break;
  }
  return fmt::format("cell {} (chunk {})", numbers(range.cell, range.count), numbers(range.chunk, range.count));
}

std::string describe(const Step& step) {
  switch (step.kind) {
    case StepKind::send:
      return fmt::format("send to rank {}: {}{}", step.peer, describe(step.left),
                         step.waits_for_right ? " after " + describe(step.right) : "");
    case StepKind::recv: return fmt::format("recv from rank {}: {}", step.peer, describe(step.to));
    case StepKind::recv_reduce: {
      const std::string mine = describe(step.left);
      return fmt::format("recv_reduce from rank {}: {} = {} + {}", step.peer, describe(step.to),
                         step.swapped ? "message" : mine, step.swapped ? mine : "message");
    }
    case StepKind::copy: return fmt::format("copy: {} = {}", describe(step.to), describe(step.left));
    case StepKind::reduce: break;
  }
  return fmt::format("reduce: {} = {} + {}", describe(step.to), describe(step.left), describe(step.right));
}

std::string describe(const Topology& topology, Rank size) {
  std::string text;
  for (Rank rank = 0; rank < size; ++rank) text += fmt::format("{}{}", rank == 0 ? "" : ",", topology.host_of(rank));
  return text;
}

std::string text_of_size(std::uint64_t bytes) {
  constexpr std::string_view units = "KMGT";
  for (std::size_t unit = units.size(); unit > 0; --unit) {
    const std::uint64_t one = std::uint64_t{1} << (10 * unit);
    if (bytes >= one && bytes % one == 0) return fmt::format("{}{}", bytes / one, units[unit - 1]);
  }
  return fmt::format("{}", bytes);
}

}  // namespace hocket
