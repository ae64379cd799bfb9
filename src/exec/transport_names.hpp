// TransportNames: which transports an operation uses, for people, as a value that is copied without a look at its
// length.
#pragma once

#include <array>
#include <string_view>

namespace hocket {

class TransportNames {
 public:
  constexpr TransportNames() = default;
  // "shm+tcp"; cut where it is longer than people are told.
  explicit TransportNames(std::string_view names) { names.copy(text_.data(), text_.size() - 1); }

  std::string_view text() const { return text_.data(); }

 private:
  std::array<char, 32> text_ = {};  // as hocket_call_info has it
};

}  // namespace hocket
