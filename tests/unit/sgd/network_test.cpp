// Gradients of hocket-sgd's network, compared with what small changes of each weight do to the loss.
#include "tools/sgd/network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tools/sgd/random.hpp"

namespace hocket::sgd {
namespace {

using testing::ElementsAre;

struct Batch {
  Batch(std::size_t samples, std::size_t inputs, std::size_t classes) {
    Random random(11);
    for (std::size_t i = 0; i < samples * inputs; ++i) pixels.push_back(random.uniform(-1, 1));
    for (std::size_t i = 0; i < samples; ++i) labels.push_back(static_cast<std::uint8_t>(random.below(classes)));
  }
  std::vector<float> pixels;
  std::vector<std::uint8_t> labels;
};

void expect_gradients_of(Network& network, const Batch& batch) {
  network.initialise(3);
  for (const Tensor& tensor : network.tensors()) {
    if (tensor.is_bias()) std::ranges::fill(tensor.weights, 0.1F);
  }
  (void)network.forward(batch.pixels, batch.labels);
  network.backward(1, [](std::size_t) {});
  constexpr float change = 1e-3F;  // small, so that no ReLU is passed by it
  for (const Tensor& tensor : network.tensors()) {
    const std::vector<float> gradient(tensor.gradient.begin(), tensor.gradient.end());
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const float before = tensor.weights[i];
      tensor.weights[i] = before + change;
      const double above = network.forward(batch.pixels, batch.labels).loss;
      tensor.weights[i] = before - change;
      const double below = network.forward(batch.pixels, batch.labels).loss;
      tensor.weights[i] = before;
      const double slope = (above - below) / (2 * static_cast<double>(change));
      EXPECT_NEAR(static_cast<double>(gradient[i]), slope, 3e-3 + 0.01 * std::abs(slope)) << tensor.name << " " << i;
    }
  }
}

TEST(SgdNetwork, GradientsAreTheSlopesOfTheLoss) {
  const std::size_t hidden[] = {5, 4};
  Network network(perceptron(6, hidden, 3));
  expect_gradients_of(network, Batch(7, 6, 3));
}

TEST(SgdNetwork, GradientsOfALinearClassifier) {
  Network network(perceptron(20, {}, 4));
  expect_gradients_of(network, Batch(3, 20, 4));
}

TEST(SgdNetwork, LossOfAnUndecidedNetworkIsTheLogarithmOfItsClasses) {
  Network network(perceptron(4, {}, 8));
  const Batch batch(5, 4, 8);
  EXPECT_NEAR(network.forward(batch.pixels, batch.labels).loss, 5 * std::log(8.0), 1e-9);
}

TEST(SgdNetwork, TensorsBecomeReadyInTheOrderInWhichTheyLie) {
  const std::size_t hidden[] = {5, 4};
  Network network(perceptron(6, hidden, 3));
  const Batch batch(2, 6, 3);
  (void)network.forward(batch.pixels, batch.labels);
  std::vector<std::size_t> order;
  network.backward(1, [&](std::size_t tensor) { order.push_back(tensor); });
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(network.tensors().front().weights.size(), 4u * 3u);
  for (std::size_t i = 1; i < network.tensors().size(); ++i) {
    const auto before = network.tensors()[i - 1].gradient;
    EXPECT_EQ(before.data() + before.size(), network.tensors()[i].gradient.data());
  }
}

TEST(SgdNetwork, GradientsOfPartsAddUp) {
  const std::size_t hidden[] = {5};
  const Batch batch(6, 6, 3);
  Network network(perceptron(6, hidden, 3));
  network.initialise(1);
  const auto gradients_of = [&](std::size_t begin, std::size_t end) {
    (void)network.forward(std::span(batch.pixels).subspan(begin * 6, (end - begin) * 6),
                          std::span(batch.labels).subspan(begin, end - begin));
    network.backward(0.5F, [](std::size_t) {});
    const auto first = network.tensors().front().gradient;
    return std::vector<float>(first.begin(), first.end());
  };
  const auto whole = gradients_of(0, 6), one = gradients_of(0, 2), other = gradients_of(2, 6);
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(whole[i], one[i] + other[i], 1e-5);
}

}  // namespace
}  // namespace hocket::sgd
