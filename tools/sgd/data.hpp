// Pictures of digits to learn from: MNIST's files, or digits that this program draws itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hocket::sgd {

inline constexpr std::size_t classes = 10;

// Grey pictures of one size, and what digit each shows.
struct Dataset {
  std::size_t rows = 0, columns = 0;
  std::vector<std::uint8_t> pixels;  // picture after picture, row after row; 0 is background
  std::vector<std::uint8_t> labels;  // 0 … classes-1

  std::size_t size() const { return labels.size(); }
  std::size_t picture_size() const { return rows * columns; }
  std::span<const std::uint8_t> picture(std::size_t index) const {
    return std::span(pixels).subspan(index * picture_size(), picture_size());
  }
};

// Equal for equal datasets.
std::uint64_t fingerprint(const Dataset& data);

// Reads two files in the IDX format of MNIST (LeCun, Cortes, Burges), plain or gzipped. Throws Problem, which names the
// file, where one is missing, no such file, cut short or too long, where the two do not fit together, or where a label
// is above 9.
Dataset read_idx(const std::string& pictures_file, const std::string& labels_file);

enum class Part { training, test };
// Reads train-images-idx3-ubyte and train-labels-idx1-ubyte (test: t10k-…) in `folder`, each with or without ".gz".
Dataset read_mnist(const std::string& folder, Part part);

// Draws `count` digits of 28 × 28 pixels, each shifted, turned, slanted, stretched and blurred by chance: the same
// pictures for the same seed.
Dataset draw_digits(std::size_t count, std::uint64_t seed);

}  // namespace hocket::sgd
