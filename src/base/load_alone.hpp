// A load that stays one of its own.
#pragma once

namespace hocket {

// The number that stands there, loaded by itself, where the compiler would load it together with its neighbours. If
// these have just been written one by one, the processor would have to wait until all of them are in its cache.
template <class Number>
[[gnu::always_inline]] inline Number load_alone(const Number& number) {
  Number loaded = number;
  asm("" : "+r"(loaded));
  return loaded;
}

}  // namespace hocket
