// Gradients of hocket-sgd's network, compared with what small changes of each weight do to the loss.
#include "tools/sgd/network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tools/sgd/convolution.hpp"
#include "tools/sgd/problem.hpp"
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

std::vector<std::unique_ptr<Layer>> in_a_row(std::unique_ptr<Layer> first, std::unique_ptr<Layer> second,
                                             std::unique_ptr<Layer> third) {
  std::vector<std::unique_ptr<Layer>> layers;
  for (auto* layer : {&first, &second, &third}) layers.push_back(std::move(*layer));
  return layers;
}

TEST(SgdNetwork, GradientsOfConvolutionsAndPooling) {
  // Two channels and three, pictures that are not square, and a row and a column that pooling leaves out.
  Network network(in_a_row(make_convolution({1, 7, 8}, 2, 3), make_convolution({2, 5, 6}, 3, 2), make_dense(60, 3)));
  expect_gradients_of(network, Batch(3, 56, 3));
  Network pooling(in_a_row(make_convolution({2, 7, 6}, 2, 3), make_max_pooling({2, 5, 4}), make_dense(8, 3)));
  expect_gradients_of(pooling, Batch(3, 84, 3));
}

// By hand: the filter lies on the picture as it is, not turned round.
TEST(SgdNetwork, AConvolutionSumsWhatLiesUnderItsFilter) {
  auto layer = make_convolution({1, 3, 3}, 1, 2);
  std::vector<float> weights = {1, 10, 100, 1000}, biases = {0.5F}, none(4);
  layer->bind({"weights", weights, none, 4}, {"biases", biases, none, 0});
  const std::vector<float> picture = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<float> output(4);
  layer->forward(picture, output);
  EXPECT_THAT(output, ElementsAre(5421.5F, 6532.5F, 8754.5F, 9865.5F));
  auto pooling = make_max_pooling({1, 3, 3});
  std::vector<float> largest(1);
  pooling->forward(picture, largest);
  EXPECT_THAT(largest, ElementsAre(5));
}

TEST(SgdNetwork, LenetHasTheLayersOfItsPaper) {
  const Network network(lenet(28, 28, 10));
  std::vector<std::size_t> lengths;
  for (const Tensor& tensor : network.tensors()) lengths.push_back(tensor.weights.size());
  EXPECT_THAT(lengths, ElementsAre(840, 10, 10080, 84, 30720, 120, 2400, 16, 150, 6));
  EXPECT_THROW(lenet(15, 28, 10), Problem);
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
