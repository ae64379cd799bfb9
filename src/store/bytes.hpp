// Numbers and texts to bytes and back, for the wire and for files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hocket::store {

// Appends a number, little endian.
template <class Integer>
void put(std::string& to, Integer number) {
  auto rest = static_cast<std::uint64_t>(number);
  for (std::size_t i = 0; i < sizeof(Integer); ++i, rest >>= 8) to.push_back(static_cast<char>(rest & 0xff));
}

// Takes fields from the front of bytes that came from outside; never reads beyond them. After the first field that is
// not whole, ok() is false and all fields are zero.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  template <class Integer>
  Integer number() {
    const std::string_view field = text(sizeof(Integer));
    std::uint64_t number = 0;
    for (std::size_t i = field.size(); i-- > 0;) number = number << 8 | static_cast<unsigned char>(field[i]);
    return static_cast<Integer>(number);
  }
  std::string_view text(std::size_t bytes) {
    if (bytes > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const std::string_view field = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return field;
  }
  std::string_view rest() { return text(rest_.size()); }
  bool ok() const { return ok_; }
  bool whole() const { return ok_ && rest_.empty(); }  // and nothing is left over

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace hocket::store
