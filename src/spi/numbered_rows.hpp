// Tables whose rows stand at the places of their numbers: of collectives, element types, reductions, formats on the
// wire.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

namespace hocket::table {

// Whether each row's number is its place.
template <class Row, std::size_t rows, class Number>
consteval bool numbers_are_places(const Row (&table)[rows], Number Row::*number) {
  for (std::size_t place = 0; place < rows; ++place) {
    if (static_cast<std::size_t>(table[place].*number) != place) return false;
  }
  return true;
}

template <class Row, std::size_t rows, class Number>
constexpr bool has(const Row (&)[rows], Number number) {
  return static_cast<std::size_t>(number) < rows;
}

// `unknown` for a number that no row has.
template <class Row, std::size_t rows, class Number>
constexpr const Row& row_of(const Row (&table)[rows], Number number, const Row& unknown) {
  return has(table, number) ? table[static_cast<std::size_t>(number)] : unknown;
}

template <class Row>
constexpr bool any_row(const Row&) {
  return true;
}

// The numbers of those rows that belong.
template <const auto& table, auto number, auto belongs = any_row<std::remove_cvref_t<decltype(table[0])>>>
consteval auto numbers_of() {
  std::array<std::remove_cvref_t<decltype(table[0].*number)>, std::ranges::count_if(table, belongs)> found{};
  std::size_t next = 0;
  for (const auto& row : table) {
    if (belongs(row)) found[next++] = row.*number;
  }
  return found;
}

}  // namespace hocket::table
