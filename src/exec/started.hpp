// What became of a message that was to start, and of an operation that was to run.
#pragma once

#include <cstdint>

namespace hocket {

enum class Started : std::uint8_t {
  no,         // nothing has happened
  under_way,  // it has begun, or waits for its turn; it may be over by now
  over        // it has ended well
};

// How far an operation has come that was run here and now.
enum class RanNow : std::uint8_t {
  nothing,  // nothing has happened
  begun,    // it is to be advanced
  over,     // it has ended well, and wake() is due
  broken    // everything broke
};

// What became of a message that was to start again, and how. In one number: what is written as several bytes and then
// read at once comes late, and every message would wait for that.
class StartedAgain {
 public:
  using Number = std::uint32_t;
  static constexpr Number kept_links = 4;  // see Operation; then there is nothing to rest for
  static constexpr Number by_latest = 8;   // the latest of its kind has run, else the idle one

  static_assert(static_cast<Number>(Started::over) < kept_links);

  constexpr StartedAgain() = default;  // it has not
  constexpr StartedAgain(Started started, Number facts) : number_(static_cast<Number>(started) | facts) {}

  constexpr Started started() const { return static_cast<Started>(number_ & (kept_links - 1)); }
  // All of these facts.
  constexpr bool has(Number facts) const { return (number_ & facts) == facts; }
  constexpr StartedAgain with(Number facts) const { return {started(), (number_ & ~(kept_links - 1)) | facts}; }

 private:
  Number number_ = 0;
};

}  // namespace hocket
