#include "src/store/dictionary.hpp"

#include <fmt/format.h>

#include <charconv>

#include "src/store/keys.hpp"

namespace hocket::store {
namespace {

constexpr std::size_t upkeep_bytes = 256;  // what keeping a key costs, about

std::size_t cost(std::string_view key, std::string_view value) {
  return key.size() + value.size() + upkeep_bytes;
}

}  // namespace

Status Dictionary::set(std::string_view key, std::string_view value) {
  if (Status status = check_key(key); !status) return status;
  if (Status status = check_value(value); !status) return status;
  const auto place = values_.lower_bound(key);
  const bool there = place != values_.end() && place->first == key;
  const std::size_t others = bytes_ - (there ? cost(key, *place->second) : 0);
  if ((!there && values_.size() >= limits_.keys) || others + cost(key, value) > limits_.bytes) {
    return {
        Code::out_of_resources,
        fmt::format("the store is full: it holds {} keys and {} bytes, and {} keys and {} bytes are its limits; use "
                    "another store, or raise them (hocket-store --max-keys, --max-bytes)",
                    values_.size(), bytes_, limits_.keys, limits_.bytes)};
  }
  auto stored = std::make_shared<const std::string>(value);
  bytes_ = others + cost(key, value);
  if (there) {
    place->second = std::move(stored);
  } else {
    values_.emplace_hint(place, key, std::move(stored));
  }
  return {};
}

Result<Dictionary::Value> Dictionary::find(std::string_view key) const {
  if (Status status = check_key(key); !status) return status;
  const auto place = values_.find(key);
  return place == values_.end() ? nullptr : place->second;
}

Result<std::int64_t> Dictionary::add(std::string_view key, std::int64_t delta) {
  auto before = find(key);
  if (!before) return before.status();
  std::int64_t number = 0;
  if (const Value& value = *before) {
    const char* end = value->data() + value->size();
    const auto [stop, error] = std::from_chars(value->data(), end, number);
    if (error != std::errc() || stop != end) {
      return Status(Code::invalid_argument,
                    fmt::format("cannot add to the store key {}: its value {} is no decimal number", in_quotes(key),
                                in_quotes(*value)));
    }
  }
  std::int64_t sum = 0;
  if (__builtin_add_overflow(number, delta, &sum)) {
    return Status(Code::invalid_argument, fmt::format("adding {} to the store key {}, which is {}, passes 64 bits",
                                                      delta, in_quotes(key), number));
  }
  if (Status status = set(key, fmt::format_int(sum).str()); !status) return status;
  return sum;
}

Result<Dictionary::Value> Dictionary::compare_and_set(std::string_view key, std::optional<std::string_view> expected,
                                                      std::string_view desired) {
  if (Status status = check_value(desired); !status) return status;
  if (expected) {
    if (Status status = check_value(*expected); !status) return status;
  }
  auto before = find(key);
  if (!before) return before;
  const Value& found = *before;
  const bool equal = found ? expected && *expected == *found : !expected;
  if (equal) {
    if (Status status = set(key, desired); !status) return status;
  }
  return before;
}

Result<bool> Dictionary::remove(std::string_view key) {
  if (Status status = check_key(key); !status) return status;
  const auto place = values_.find(key);
  if (place == values_.end()) return false;
  bytes_ -= cost(key, *place->second);
  values_.erase(place);
  return true;
}

std::size_t Dictionary::count(std::string_view prefix) const {
  std::size_t number = 0;
  for (auto place = values_.lower_bound(prefix); place != values_.end() && place->first.starts_with(prefix); ++place) {
    ++number;
  }
  return number;
}

Result<Dictionary::Page> Dictionary::list(std::string_view prefix, std::string_view after,
                                          std::size_t bytes_max) const {
  if (Status status = check_prefix(prefix); !status) return status;
  Page page;
  std::size_t bytes = 0;
  auto place = after < prefix ? values_.lower_bound(prefix) : values_.upper_bound(after);
  for (; place != values_.end() && place->first.starts_with(prefix); ++place) {
    if (!page.keys.empty() && bytes + place->first.size() > bytes_max) {
      page.more = true;
      break;
    }
    bytes += place->first.size();
    page.keys.push_back(place->first);
  }
  return page;
}

}  // namespace hocket::store
