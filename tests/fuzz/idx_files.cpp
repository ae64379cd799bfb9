// MNIST's files: the first two bytes of an input say how long the file of pictures is, the rest is that of labels.
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>

#include "src/base/bytes.hpp"
#include "src/base/fd.hpp"
#include "tests/fuzz/target.hpp"
#include "tools/sgd/data.hpp"
#include "tools/sgd/problem.hpp"

namespace hocket::fuzz {
namespace {

UniqueFd file_of(std::string_view bytes) {
  UniqueFd fd(::memfd_create("idx", MFD_CLOEXEC));
  require(fd && ::write(fd.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  return fd;
}

std::string path_of(const UniqueFd& fd) {
  return "/proc/self/fd/" + std::to_string(fd.get());
}

bool run(std::string_view input) {
  ByteReader reader(input);
  const std::size_t wanted = reader.take<std::uint16_t>();
  const UniqueFd pictures = file_of(reader.text(std::min(wanted, reader.left()))), labels = file_of(reader.rest());
  try {
    const sgd::Dataset data = sgd::read_idx(path_of(pictures), path_of(labels));
    require(data.size() > 0 && data.pixels.size() == data.size() * data.picture_size());
    require(std::ranges::all_of(data.labels, [](std::uint8_t label) { return label < sgd::classes; }));
    return true;
  } catch (const sgd::Problem&) {
    return false;
  }
}

std::string big_endian(std::uint8_t number) {
  return {'\0', '\0', '\0', static_cast<char>(number)};
}

std::string zipped(const std::string& text) {
  const std::string name = "/proc/self/fd/";
  const UniqueFd fd(::memfd_create("gz", MFD_CLOEXEC));
  const gzFile file = ::gzdopen(::dup(fd.get()), "wb");
  require(::gzwrite(file, text.data(), static_cast<unsigned>(text.size())) == static_cast<int>(text.size()));
  require(::gzclose(file) == Z_OK);
  std::string bytes(4096, '\0');
  bytes.resize(static_cast<std::size_t>(::pread(fd.get(), bytes.data(), bytes.size(), 0)));
  return bytes;
}

std::string both(const std::string& pictures, const std::string& labels) {
  std::string input;
  append(input, static_cast<std::uint16_t>(pictures.size()));
  return input + pictures + labels;
}

std::vector<std::string> seeds() {
  const std::string pictures =
      std::string("\0\0\x08\x03", 4) + big_endian(2) + big_endian(2) + big_endian(3) + "abcdefghijkl";
  const std::string labels = std::string("\0\0\x08\x01", 4) + big_endian(2) + std::string("\x03\x09", 2);
  return {both(pictures, labels), both(zipped(pictures), zipped(labels))};
}

}  // namespace

const Target idx_files{"idx_files", run, seeds};

}  // namespace hocket::fuzz
