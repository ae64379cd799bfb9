// Words of a text, separated by white space. Unlike a stream, which ends there, it does not take memory that ran out
// for the end of the text.
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <string_view>
#include <system_error>

namespace hocket {

// From the first word on that is missing or not what was asked for, ok() is false, and all words are zero or empty.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) { skip_space(); }

  std::string_view word() {
    const std::string_view word = rest_.substr(0, rest_.find_first_of(space));
    rest_.remove_prefix(word.size());
    skip_space();
    if (word.empty()) fail();
    return word;
  }
  template <std::integral Number>
  Number number() {
    const std::string_view text = word();
    Number number = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    if (parsed.ec == std::errc() && parsed.ptr == text.data() + text.size()) return number;
    fail();
    return 0;
  }
  void skip(int words) {
    for (; words > 0; --words) (void)word();
  }
  // What is left, without white space before it.
  std::string_view rest() const { return rest_; }

  bool ok() const { return ok_; }

 private:
  static constexpr std::string_view space = " \t\n\v\f\r";

  void skip_space() { rest_.remove_prefix(std::min(rest_.size(), rest_.find_first_not_of(space))); }
  void fail() {
    ok_ = false;
    rest_ = {};
  }

  std::string_view rest_;
  bool ok_ = true;
};

// The next line of a text, without its end; takes it from the front of `text`.
inline std::string_view next_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

}  // namespace hocket
