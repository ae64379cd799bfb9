// Filling and checking buffers in the memory of a GPU. Data is a table that repeats (bench/data.hpp), in units of 1, 2,
// 4 or 8 bytes: an element is one of these or several.
#pragma once

#include "tools/device/kernel.hpp"

namespace hocket::bench {

// to[i] = table[(first + i) % period], in units.
struct FillArguments {
  static constexpr unsigned pointers = 2;
  void* to;
  const void* table;
  uint64_t count, first, period;
  uint32_t unit_bytes;
};

// Adds to `wrong` how many elements of `at` are not those of the table.
struct CheckArguments {
  static constexpr unsigned pointers = 3;
  const void* at;
  const void* table;
  uint64_t* wrong;
  uint64_t count, first, period;  // elements
  uint32_t unit_bytes, units;     // of an element
  uint64_t sign;                  // of a unit that is a float: the bit that does not count in a zero; else 0
  double tolerance;               // 0 or more: how far a float32 may be from the table's; below 0: not at all
};

template <class Unit>
HOCKET_BOTH void fill_units(const FillArguments& call, uint64_t thread, uint64_t threads) {
  const Unit* const table = static_cast<const Unit*>(call.table);
  for (uint64_t i = thread; i < call.count; i += threads) {
    static_cast<Unit*>(call.to)[i] = table[(call.first + i) % call.period];
  }
}

HOCKET_BOTH void fill_share(const FillArguments& call, uint64_t thread, uint64_t threads) {
  switch (call.unit_bytes) {
    case 1: return fill_units<uint8_t>(call, thread, threads);
    case 2: return fill_units<uint16_t>(call, thread, threads);
    case 4: return fill_units<uint32_t>(call, thread, threads);
    default: return fill_units<uint64_t>(call, thread, threads);
  }
}

// A zero with a sign equals one without. There are no NaNs in tables, so no others are equal that have other bits.
template <class Unit>
HOCKET_BOTH bool are_equal(const CheckArguments& call, Unit found, Unit expected) {
  if (sizeof(Unit) == 4 && call.tolerance >= 0) {
    const double off = static_cast<double>(cuda::bits_as<float>(static_cast<uint32_t>(found))) -
                       static_cast<double>(cuda::bits_as<float>(static_cast<uint32_t>(expected)));
    return off <= call.tolerance && -off <= call.tolerance;  // a NaN is far
  }
  return found == expected || ((found | expected) & ~static_cast<Unit>(call.sign)) == 0;
}

template <class Unit>
HOCKET_BOTH void check_units(const CheckArguments& call, uint64_t thread, uint64_t threads) {
  const Unit* const at = static_cast<const Unit*>(call.at);
  const Unit* const table = static_cast<const Unit*>(call.table);
  uint64_t wrong = 0;
  for (uint64_t i = thread; i < call.count; i += threads) {
    const uint64_t expected = (call.first + i) % call.period * call.units;
    bool equal = true;
    for (uint32_t unit = 0; unit < call.units; ++unit) {
      equal = equal && are_equal(call, at[i * call.units + unit], table[expected + unit]);
    }
    wrong += equal ? 0 : 1;
  }
  if (wrong != 0) device::add_to(call.wrong, wrong);
}

HOCKET_BOTH void check_share(const CheckArguments& call, uint64_t thread, uint64_t threads) {
  switch (call.unit_bytes) {
    case 1: return check_units<uint8_t>(call, thread, threads);
    case 2: return check_units<uint16_t>(call, thread, threads);
    case 4: return check_units<uint32_t>(call, thread, threads);
    default: return check_units<uint64_t>(call, thread, threads);
  }
}

}  // namespace hocket::bench
