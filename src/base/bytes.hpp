// Numbers and texts to bytes and back, for the wire and for files; numbers are little endian. What writes and what
// reads: nothing else takes foreign bytes apart.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace hocket {

static_assert(std::endian::native == std::endian::little, "a big-endian machine must swap bytes here");

// Writes into memory that the caller has made large enough.
class ByteWriter {
 public:
  explicit ByteWriter(std::byte* at) : at_(at) {}

  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::memcpy(at_, &value, sizeof value);
    at_ += sizeof value;
  }
  void put_text(std::string_view text) {
    if (!text.empty()) std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }

 private:
  std::byte* at_;
};

template <class T>
void append(std::string& to, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  const std::size_t before = to.size();
  to.resize(before + sizeof value);
  std::memcpy(to.data() + before, &value, sizeof value);
}

// Takes fields from the front of bytes that came from outside; never reads beyond them. From the first field that is
// not whole, ok() is false and all fields are zero or empty.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}
  explicit ByteReader(std::span<const std::byte> bytes)
      : rest_(reinterpret_cast<const char*>(bytes.data()), bytes.size()) {}

  template <class T>
  T take() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    const std::string_view field = text(sizeof value);
    if (field.size() == sizeof value) std::memcpy(&value, field.data(), sizeof value);
    return value;
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

  std::size_t left() const { return rest_.size(); }
  bool ok() const { return ok_; }
  bool whole() const { return ok_ && rest_.empty(); }  // and nothing is left over

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace hocket
