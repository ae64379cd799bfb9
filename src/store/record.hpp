// The format of a store's file, version 2: this header line, then one record for each change, in the order of changes.
//     u32 body_bytes   u32 checksum   body: u8 kind (1 set, 2 remove)   u16 key_bytes   key   value, to the end
// Numbers are little endian; the checksum is 32 bits of the Hash of the body. A writer holds the file's lock
// until the record is whole, so a last record that is cut short was left by a process that died, and the next writer
// overwrites it. All functions here are pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "src/spi/store.hpp"

namespace hocket::store {

inline constexpr std::string_view file_header = "hocket store file, version 2\n";

struct Record {
  std::string_view key;
  std::optional<std::string_view> value;  // nothing: the key is removed
  std::size_t bytes = 0;                  // of the whole record in the file
};

std::string encode_record(std::string_view key, std::optional<std::string_view> value);
// The first record in `bytes`, which it points into. Nothing: it is cut short. Code::protocol_error: it is none.
Result<std::optional<Record>> parse_record(std::string_view bytes);

}  // namespace hocket::store
