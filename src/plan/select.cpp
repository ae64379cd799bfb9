#include "src/plan/select.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/plan/class_tables.hpp"
#include "src/plan/text.hpp"

namespace hocket {
namespace {

// What tables say that is fit for the call. Tables for calls of lower precision may name exact algorithms, where these
// need fewer bytes than the wire format saves.
Selection look_up(const Tuning& tables, std::string_view source, CallKind kind, const Call& call) {
  const auto found = tables.find(call.size, call.topology.hosts(), kind, call.collective, call.bytes);
  if (found.algorithm == nullptr) return {};
  const bool exact_instead = kind == CallKind::lower_precision && !found.algorithm->encoded;
  if (!exact_instead && !is_fit(*found.algorithm, call)) return {};
  return {.algorithm = found.algorithm, .source = source, .head = found.head, .bytes_max = found.bytes_max};
}

}  // namespace

CallKind kind_of(const Call& call) {
  if (call.in_rank_order) {
    if (info_of(call.collective).reduces()) return CallKind::in_rank_order;
  } else if (call.wire != WireFormat::exact && call.size > 1) {
    return CallKind::lower_precision;
  }
  if (call.unequal) return CallKind::unequal_blocks;
  return call.narrow_floats ? CallKind::narrow_floats : CallKind::usual;
}

bool is_fit(const Algorithm& algorithm, const Call& call) {
  const CallKind kind = kind_of(call);
  return algorithm.encoded == (kind == CallKind::lower_precision) &&
         (algorithm.in_rank_order || kind != CallKind::in_rank_order) && !(call.unequal && algorithm.forwards_blocks);
}

const Algorithm* named_algorithm(const Call& call, const Choices& named) {
  if (named.empty()) return nullptr;
  const Algorithm* algorithm = named.wanted(call.collective, call.bytes).algorithm;
  return algorithm != nullptr && is_fit(*algorithm, call) ? algorithm : nullptr;
}

Selection select(const Call& call, const Choices& named, const Tuning& tables) {
  if (const Algorithm* algorithm = named_algorithm(call, named)) return {.algorithm = algorithm, .source = "name"};
  // Tables for the call's kind go before those for usual calls.
  const std::array kinds{kind_of(call), CallKind::usual};
  const std::span tried(kinds.data(), kinds[0] == kinds[1] ? 1 : 2);
  for (const CallKind kind : tried) {
    if (tables.empty()) break;
    if (const Selection found = look_up(tables, "HOCKET_TUNING", kind, call); found.algorithm != nullptr) return found;
  }
  const auto own = tables_of(call.machine());
  for (const CallKind kind : tried) {
    for (const ClassTable& table : own) {
      if (const Selection found = look_up(table.tables, table.name, kind, call); found.algorithm != nullptr) {
        return found;
      }
    }
  }
  const auto any = std::ranges::find_if(catalog(), [&](const Algorithm& algorithm) {
    return algorithm.collective == call.collective && is_fit(algorithm, call);
  });
  return {.algorithm = &*any, .source = "no table"};
}

const Algorithm& select_algorithm(const Call& call, std::string_view wanted) {
  const Algorithm* named = find_algorithm(call.collective, wanted);
  return named != nullptr && is_fit(*named, call) ? *named : *select(call).algorithm;
}

std::string Selection::explanation() const {
  if (head == nullptr) return std::string(source);
  return fmt::format("{} {}{}", source, head->text(),
                     bytes_max == any_bytes ? "" : fmt::format(", up to {}", text_of_size(bytes_max)));
}

}  // namespace hocket
