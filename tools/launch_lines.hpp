// Cuts a stream of bytes into whole lines, so that the lines of several writers do not run into one another.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hocket::launch {

class LineCutter {
 public:
  // A line that grows longer than this is passed on in pieces.
  static constexpr std::size_t line_bytes_max = std::size_t{1} << 20;

  explicit LineCutter(std::string label) : label_(std::move(label)) {}

  // Returns the lines that `bytes` completes, each after the label and with its end of line.
  std::string feed(std::string_view bytes) {
    std::string lines;
    while (true) {
      const std::size_t end = bytes.find('\n');
      if (end == std::string_view::npos) break;
      pending_.append(bytes.substr(0, end + 1));
      lines += label_ + pending_;
      pending_.clear();
      bytes.remove_prefix(end + 1);
    }
    pending_.append(bytes);
    if (pending_.size() > line_bytes_max) lines += finish();
    return lines;
  }

  // Returns the last line, if it has no end of line yet, with one.
  std::string finish() {
    if (pending_.empty()) return {};
    std::string line = label_ + pending_ + "\n";
    pending_.clear();
    return line;
  }

 private:
  std::string label_;
  std::string pending_;
};

}  // namespace hocket::launch
