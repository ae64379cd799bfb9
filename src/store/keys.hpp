// What every store says alike about keys and values: their bounds, and how they look in messages.
#pragma once

#include <string>
#include <string_view>

#include "src/spi/store.hpp"

namespace hocket::store {

// Code::invalid_argument where a bound of hocket/spi/store.hpp is passed.
Status check_key(std::string_view key);
Status check_value(std::string_view value);
// A prefix may be empty, and is at most as long as a key.
Status check_prefix(std::string_view prefix);

// In quotes, with what cannot be printed as \xNN, cut after 64 bytes.
std::string in_quotes(std::string_view key);

// Code::timeout: a call whose deadline passed before it took effect.
Status call_timed_out(std::string_view call, std::string_view key, std::string_view url);
// Code::timeout: a get that began at `began`, and whose key nobody set.
Status get_timed_out(std::string_view key, std::string_view url, Deadline::Clock::time_point began);

}  // namespace hocket::store
