#include "src/store/record.hpp"

#include "src/base/bytes.hpp"
#include "src/base/hash.hpp"

namespace hocket::store {
namespace {

enum class RecordKind : std::uint8_t { set = 1, remove = 2 };

constexpr std::size_t head_bytes = 8;
constexpr std::size_t body_bytes_max = 3 + store_key_bytes_max + store_value_bytes_max;

std::uint32_t checksum(std::string_view bytes) {
  return Hash().add(bytes).value32();
}

}  // namespace

std::string encode_record(std::string_view key, std::optional<std::string_view> value) {
  std::string body;
  append(body, static_cast<std::uint8_t>(value ? RecordKind::set : RecordKind::remove));
  append(body, static_cast<std::uint16_t>(key.size()));
  body += key;
  body += value.value_or("");
  std::string record;
  append(record, static_cast<std::uint32_t>(body.size()));
  append(record, checksum(body));
  return record + body;
}

Result<std::optional<Record>> parse_record(std::string_view bytes) {
  ByteReader head(bytes);
  const auto body_bytes = head.take<std::uint32_t>();
  const auto sum = head.take<std::uint32_t>();
  if (!head.ok()) return std::optional<Record>();
  if (body_bytes > body_bytes_max) return Status(Code::protocol_error, "a record is longer than any can be");
  const std::string_view body = head.text(body_bytes);
  if (!head.ok()) return std::optional<Record>();
  ByteReader reader(body);
  const auto kind = static_cast<RecordKind>(reader.take<std::uint8_t>());
  Record record;
  record.key = reader.text(reader.take<std::uint16_t>());
  const std::string_view value = reader.rest();
  const bool meant = kind == RecordKind::set || (kind == RecordKind::remove && value.empty());
  if (!reader.ok() || !meant || record.key.empty() || checksum(body) != sum) {
    return Status(Code::protocol_error, "a record is damaged");
  }
  if (kind == RecordKind::set) record.value = value;
  record.bytes = head_bytes + body.size();
  return std::optional<Record>(record);
}

}  // namespace hocket::store
