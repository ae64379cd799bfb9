// Small cases of hocket-sgd's updates, computed by hand.
#include "tools/sgd/optimizer.hpp"

#include <gtest/gtest.h>

#include "tools/sgd/buckets.hpp"

namespace hocket::sgd {
namespace {

struct Weights {
  std::vector<float> weights, gradient;
  std::vector<Tensor> tensors(std::size_t inputs = 1) { return {{"weights", weights, gradient, inputs}}; }
};

TEST(SgdOptimizer, MomentumAddsUp) {
  Weights one{{1}, {2}};
  Optimizer optimizer({.momentum = 0.5}, one.tensors());
  optimizer.step(one.tensors(), 0.1);
  EXPECT_FLOAT_EQ(one.weights[0], 0.8F);  // v = 0.2
  optimizer.step(one.tensors(), 0.1);
  EXPECT_FLOAT_EQ(one.weights[0], 0.5F);  // v = 0.1 + 0.2
  one.gradient[0] = 0;
  optimizer.step(one.tensors(), 0.1);
  EXPECT_FLOAT_EQ(one.weights[0], 0.35F);  // v = 0.15
}

TEST(SgdOptimizer, WeightsDecayAndBiasesDoNot) {
  Weights weight{{2}, {0}}, bias{{2}, {0}};
  Optimizer({.weight_decay = 0.5}, weight.tensors()).step(weight.tensors(), 0.1);
  Optimizer({.weight_decay = 0.5}, bias.tensors(0)).step(bias.tensors(0), 0.1);
  EXPECT_FLOAT_EQ(weight.weights[0], 1.9F);
  EXPECT_FLOAT_EQ(bias.weights[0], 2.0F);
}

TEST(SgdOptimizer, LarsScalesByNorms) {
  Weights one{{3, 4}, {0, 10}};  // norms 5 and 10
  Optimizer({.momentum = 0, .lars = true, .trust = 0.1}, one.tensors()).step(one.tensors(), 2);
  EXPECT_FLOAT_EQ(one.weights[0], 3);
  EXPECT_FLOAT_EQ(one.weights[1], 4 - 2 * (0.1F * 5 / 10) * 10);
}

TEST(SgdOptimizer, LarsCountsDecayAsPartOfTheGradient) {
  Weights one{{3, 4}, {0, 10}};
  Optimizer({.momentum = 0, .weight_decay = 2, .lars = true, .trust = 0.1}, one.tensors()).step(one.tensors(), 1);
  const float local = 0.1F * 5 / (10 + 2 * 5);
  EXPECT_FLOAT_EQ(one.weights[0], 3 - local * (0 + 2 * 3));
  EXPECT_FLOAT_EQ(one.weights[1], 4 - local * (10 + 2 * 4));
}

TEST(SgdOptimizer, LarsLeavesBiasesAndZerosAlone) {
  Weights bias{{1}, {2}}, zero{{0}, {2}};
  Optimizer({.momentum = 0, .lars = true}, bias.tensors(0)).step(bias.tensors(0), 0.1);
  Optimizer({.momentum = 0, .lars = true}, zero.tensors()).step(zero.tensors(), 0.1);
  EXPECT_FLOAT_EQ(bias.weights[0], 0.8F);
  EXPECT_FLOAT_EQ(zero.weights[0], -0.2F);
}

TEST(SgdLearningRate, WarmsUpToTheScaledRate) {
  const LearningRate rate{.base = 0.1, .factor = 5, .warmup_steps = 4};
  EXPECT_DOUBLE_EQ(rate.at(0), 0.1);
  EXPECT_DOUBLE_EQ(rate.at(1), 0.2);
  EXPECT_DOUBLE_EQ(rate.at(3), 0.4);
  EXPECT_DOUBLE_EQ(rate.at(4), 0.5);
  EXPECT_DOUBLE_EQ(rate.at(1000), 0.5);
  EXPECT_DOUBLE_EQ((LearningRate{.base = 0.1, .factor = 2}).at(0), 0.2);
}

TEST(SgdBuckets, CoverAllTensorsInOrder) {
  std::vector<float> gradients(100);
  std::vector<Tensor> tensors;
  std::size_t used = 0;
  for (const std::size_t size : {10, 20, 30, 5, 35}) {
    tensors.push_back({"", {}, std::span(gradients).subspan(used, size), 1});
    used += size;
  }
  const auto sizes_of = [&](std::size_t bytes) {
    std::vector<std::size_t> sizes;
    const float* next = gradients.data();
    for (const Bucket& bucket : make_buckets(tensors, bytes)) {
      EXPECT_EQ(bucket.gradients.data(), next);
      next += bucket.gradients.size();
      sizes.push_back(bucket.gradients.size());
    }
    return sizes;
  };
  EXPECT_EQ(sizes_of(0), (std::vector<std::size_t>{10, 20, 30, 5, 35}));
  EXPECT_EQ(sizes_of(30 * 4), (std::vector<std::size_t>{30, 30, 40}));
  EXPECT_EQ(sizes_of(31 * 4), (std::vector<std::size_t>{60, 40}));
  EXPECT_EQ(sizes_of(1000), (std::vector<std::size_t>{100}));
  EXPECT_EQ(make_buckets(tensors, 31 * 4).front().last_tensor, 2u);
}

}  // namespace
}  // namespace hocket::sgd
