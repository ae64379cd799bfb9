#include "tools/sgd/data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "tools/sgd/hash.hpp"
#include "tools/sgd/problem.hpp"
#include "tools/sgd/read_file.hpp"

namespace hocket::sgd {
namespace {

constexpr std::size_t side_max = 1024;

std::size_t big_endian(std::span<const std::uint8_t> bytes) {
  return std::size_t{bytes[0]} << 24 | std::size_t{bytes[1]} << 16 | std::size_t{bytes[2]} << 8 | std::size_t{bytes[3]};
}

// The values of an IDX file of bytes: two zeros, the type (8: bytes), the number of dimensions, their sizes, the
// values.
struct Idx {
  std::vector<std::size_t> sizes;
  std::vector<std::uint8_t> values;
};

Idx parse_idx(const std::string& name, std::vector<std::uint8_t> bytes, std::size_t dimensions) {
  const std::size_t header = 4 + 4 * dimensions;
  const std::uint8_t expected[] = {0, 0, 8, static_cast<std::uint8_t>(dimensions)};
  if (bytes.size() < 4 || !std::equal(std::begin(expected), std::end(expected), bytes.begin())) {
    throw Problem(fmt::format(
        "{} is not an IDX file of bytes with {} dimension{}: its first four bytes should be 00 00 08 {:02x}.", name,
        dimensions, dimensions == 1 ? "" : "s", dimensions));
  }
  if (bytes.size() < header) throw Problem(fmt::format("{} is cut short: it ends within its header.", name));
  Idx idx;
  std::size_t values = 1;
  for (std::size_t i = 0; i < dimensions; ++i) {
    idx.sizes.push_back(big_endian(std::span(bytes).subspan(4 + 4 * i, 4)));
    // Beyond the largest file the product does not matter any more, and must not overflow.
    values = std::min(values * idx.sizes.back(), file_bytes_max + 1);
    if (i > 0 && (idx.sizes.back() == 0 || idx.sizes.back() > side_max)) {
      throw Problem(
          fmt::format("{} says that its pictures are {} pixels long or wide; it is damaged.", name, idx.sizes.back()));
    }
  }
  if (bytes.size() - header != values) {
    throw Problem(
        fmt::format("{} is damaged or cut short: its header promises {} values, but {} follow.", name,
                    values > file_bytes_max ? fmt::format("more than {}", file_bytes_max) : fmt::to_string(values),
                    bytes.size() - header));
  }
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(header));
  idx.values = std::move(bytes);
  return idx;
}

}  // namespace

std::uint64_t fingerprint(const Dataset& data) {
  const std::size_t shape[] = {data.rows, data.columns, data.size()};
  return Hash()
      .add(std::span<const std::size_t>(shape))
      .add(std::span<const std::uint8_t>(data.pixels))
      .add(std::span<const std::uint8_t>(data.labels))
      .value();
}

Dataset read_idx(const std::string& pictures_file, const std::string& labels_file) {
  Idx pictures = parse_idx(pictures_file, read_file(pictures_file), 3);
  Idx labels = parse_idx(labels_file, read_file(labels_file), 1);
  if (pictures.sizes[0] != labels.sizes[0]) {
    throw Problem(fmt::format("{} holds {} pictures, but {} holds {} labels: they do not belong together.",
                              pictures_file, pictures.sizes[0], labels_file, labels.sizes[0]));
  }
  if (labels.values.empty()) throw Problem(fmt::format("{} holds no pictures.", pictures_file));
  const auto wrong = std::ranges::find_if(labels.values, [](std::uint8_t label) { return label >= classes; });
  if (wrong != labels.values.end()) {
    throw Problem(fmt::format("{}: the label of picture {} is {}, but digits go from 0 to {}.", labels_file,
                              wrong - labels.values.begin(), *wrong, classes - 1));
  }
  return {pictures.sizes[1], pictures.sizes[2], std::move(pictures.values), std::move(labels.values)};
}

Dataset read_mnist(const std::string& folder, Part part) {
  const auto find = [&](const std::string& name) {
    for (const char* ending : {"", ".gz"}) {
      const std::string file = (std::filesystem::path(folder) / name).string() + ending;
      if (std::error_code ignored; std::filesystem::exists(file, ignored)) return file;
    }
    throw Problem(
        fmt::format("There is neither {0}/{1} nor {0}/{1}.gz. --data names the folder that holds MNIST's four files.",
                    folder, name));
  };
  const std::string prefix = part == Part::training ? "train" : "t10k";
  const std::string pictures = find(prefix + "-images-idx3-ubyte");
  return read_idx(pictures, find(prefix + "-labels-idx1-ubyte"));
}

}  // namespace hocket::sgd
