// Layers that keep pictures pictures, and the network that is made of them. Y. LeCun, L. Bottou, Y. Bengio and P.
// Haffner, "Gradient-based learning applied to document recognition", Proceedings of the IEEE 86 (1998), section II.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "tools/sgd/layers.hpp"

namespace hocket::sgd {

// A sample of `channels` pictures of one size, each row after row.
struct Pictures {
  std::size_t channels = 1, rows = 0, columns = 0;

  std::size_t size() const { return channels * rows * columns; }
};

// Every output picture is a bias and the sum of all input pictures, each under a filter of `side` × `side` weights of
// its own, wherever the filter fits: `side` - 1 rows and columns fewer. Requires as many of both.
std::unique_ptr<Layer> make_convolution(const Pictures& input, std::size_t channels, std::size_t side);
// The largest of each square of 2 × 2 pixels; an odd last row or column is left out.
std::unique_ptr<Layer> make_max_pooling(const Pictures& input);

// Two convolutions, of 6 and 16 filters of 5 × 5, each with a ReLU and pooling behind; then dense layers of 120, 84 and
// `outputs`. Throws Problem where pictures have fewer than 16 rows or columns.
std::vector<std::unique_ptr<Layer>> lenet(std::size_t rows, std::size_t columns, std::size_t outputs);

}  // namespace hocket::sgd
