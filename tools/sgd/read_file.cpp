#include "tools/sgd/read_file.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "tools/sgd/problem.hpp"

namespace hocket::sgd {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t piece = std::size_t{1} << 20;

void require_fitting(const std::string& name, std::size_t bytes) {
  if (bytes <= file_bytes_max) return;
  throw Problem(fmt::format("{} holds more than {} bytes: it is not an MNIST file.", name, file_bytes_max));
}

Bytes read_plain(const std::string& name) {
  if (std::filesystem::is_directory(name)) throw Problem(fmt::format("{} is a folder, not a file.", name));
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(name.c_str(), "rb"), std::fclose);
  if (!file) throw Problem(fmt::format("Cannot open {}: {}.", name, std::strerror(errno)));
  Bytes bytes;
  for (std::size_t got = piece; got == piece;) {
    const std::size_t before = bytes.size();
    bytes.resize(before + piece);
    got = std::fread(bytes.data() + before, 1, piece, file.get());
    bytes.resize(before + got);
    require_fitting(name, bytes.size());
  }
  if (std::ferror(file.get()) != 0) throw Problem(fmt::format("Cannot read {}: {}.", name, std::strerror(errno)));
  return bytes;
}

class Inflater {
 public:
  Inflater() {
    constexpr int window_of_a_gzip_file = 15 + 16;  // so that zlib takes no other format
    if (inflateInit2(&stream_, window_of_a_gzip_file) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Not gzread(), which passes over whatever follows the last member.
  Bytes unpack(const std::string& name, Bytes packed) {
    stream_.next_in = packed.data();
    stream_.avail_in = static_cast<uInt>(packed.size());
    Bytes bytes;
    for (int result = Z_OK; result != Z_STREAM_END || stream_.avail_in > 0;) {
      if (result == Z_STREAM_END) inflateReset(&stream_);  // another member
      const std::size_t before = bytes.size();
      bytes.resize(before + piece);
      stream_.next_out = bytes.data() + before;
      stream_.avail_out = piece;
      result = inflate(&stream_, Z_NO_FLUSH);
      bytes.resize(bytes.size() - stream_.avail_out);
      require_fitting(name, bytes.size());
      if (result == Z_MEM_ERROR) throw std::bad_alloc();
      if (result == Z_OK || result == Z_STREAM_END) continue;
      throw Problem(fmt::format("{} cannot be unpacked: {}.", name,
                                result == Z_BUF_ERROR ? "it is cut short" : "it is damaged, or more follows its end"));
    }
    return bytes;
  }

 private:
  z_stream stream_{};
};

}  // namespace

Bytes read_file(const std::string& name) {
  Bytes bytes = read_plain(name);
  const bool is_gzipped = bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
  return is_gzipped ? Inflater().unpack(name, std::move(bytes)) : bytes;
}

}  // namespace hocket::sgd
