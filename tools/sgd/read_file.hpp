// Whole files, plain or gzipped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hocket::sgd {

inline constexpr std::size_t file_bytes_max = std::size_t{1}
                                              << 30;  // unpacked; a small gzipped file can hold very much

// A file's bytes, unpacked if it begins as a gzip file does (RFC 1952); nothing but further gzip members may follow
// there. Throws Problem, which names the file, where it cannot be read, is damaged, cut short or too long.
std::vector<std::uint8_t> read_file(const std::string& name);

}  // namespace hocket::sgd
