// A perceptron on a GPU: each kernel's function for one thread's share. Sums are taken in the order in which layers.cpp
// takes them, and products are not fused with them, so that the device comes to the host's numbers, but for exp() and
// log().
#pragma once

#include "tools/device/kernel.hpp"

namespace hocket::sgd {

// Of one layer: `inputs` and `outputs` floats for each of `samples`; weights lie input after input.
struct Shape {
  uint64_t samples, inputs, outputs;
};

// outputs = biases + weights · inputs; below zero: zero, where a ReLU follows.
struct ForwardArguments {
  static constexpr unsigned pointers = 4;
  float* output;
  const float* input;
  const float* weights;
  const float* biases;
  Shape shape;
  uint32_t relu;
};
HOCKET_BOTH void forward_share(const ForwardArguments& call, uint64_t thread, uint64_t threads) {
  const Shape& of = call.shape;
  for (uint64_t at = thread; at < of.samples * of.outputs; at += threads) {
    const uint64_t sample = at / of.outputs, output = at % of.outputs;
    const float* const input = call.input + sample * of.inputs;
    float sum = call.biases[output];
    for (uint64_t i = 0; i < of.inputs; ++i) sum += input[i] * call.weights[i * of.outputs + output];
    call.output[at] = call.relu != 0 && sum < 0 ? 0 : sum;
  }
}

// The outputs of the last layer become the gradient of the loss, and each sample has its loss, and whether the largest
// output was that of its label.
struct JudgeArguments {
  static constexpr unsigned pointers = 4;
  float* outputs;
  const uint8_t* labels;
  double* losses;
  uint8_t* correct;
  uint64_t samples, classes;
};
HOCKET_BOTH void judge_share(const JudgeArguments& call, uint64_t thread, uint64_t threads) {
  for (uint64_t sample = thread; sample < call.samples; sample += threads) {
    float* const outputs = call.outputs + sample * call.classes;
    const uint64_t label = call.labels[sample];
    uint64_t guess = 0;
    for (uint64_t i = 1; i < call.classes; ++i) guess = outputs[i] > outputs[guess] ? i : guess;
    const float largest = outputs[guess];
    double sum = 0;
    for (uint64_t i = 0; i < call.classes; ++i) sum += exp(static_cast<double>(outputs[i] - largest));
    call.losses[sample] = log(sum) - static_cast<double>(outputs[label] - largest);
    call.correct[sample] = guess == label ? 1 : 0;
    for (uint64_t i = 0; i < call.classes; ++i) {
      outputs[i] = static_cast<float>(exp(static_cast<double>(outputs[i] - largest)) / sum);
    }
    outputs[label] -= 1;
  }
}

struct ScaleArguments {
  static constexpr unsigned pointers = 1;
  float* values;
  uint64_t count;
  float factor;
};
HOCKET_BOTH void scale_share(const ScaleArguments& call, uint64_t thread, uint64_t threads) {
  for (uint64_t i = thread; i < call.count; i += threads) call.values[i] *= call.factor;
}

// The gradients of a layer's weights and biases; a thread has one of them, and so one order of the sum.
struct GradientArguments {
  static constexpr unsigned pointers = 4;
  float* weights;
  float* biases;
  const float* input;
  const float* output_gradient;
  Shape shape;
};
HOCKET_BOTH void gradient_share(const GradientArguments& call, uint64_t thread, uint64_t threads) {
  const Shape& of = call.shape;
  for (uint64_t at = thread; at < (of.inputs + 1) * of.outputs; at += threads) {
    const uint64_t input = at / of.outputs, output = at % of.outputs;
    const bool is_bias = input == of.inputs;
    float sum = 0;
    for (uint64_t sample = 0; sample < of.samples; ++sample) {
      const float gradient = call.output_gradient[sample * of.outputs + output];
      sum += is_bias ? gradient : call.input[sample * of.inputs + input] * gradient;
    }
    (is_bias ? call.biases[output] : call.weights[at]) = sum;
  }
}

// The gradient of a layer's input, which is the output of a ReLU. In eight parts, as dot() in vectors.hpp.
struct BackArguments {
  static constexpr unsigned pointers = 4;
  float* input_gradient;
  const float* input;
  const float* weights;
  const float* output_gradient;
  Shape shape;
};
HOCKET_BOTH void back_share(const BackArguments& call, uint64_t thread, uint64_t threads) {
  constexpr uint64_t lanes = 8;
  const Shape& of = call.shape;
  for (uint64_t at = thread; at < of.samples * of.inputs; at += threads) {
    const float* const gradient = call.output_gradient + at / of.inputs * of.outputs;
    const float* const weights = call.weights + at % of.inputs * of.outputs;
    float sums[lanes] = {};
    uint64_t i = 0;
    for (; i + lanes <= of.outputs; i += lanes) {
      for (uint64_t lane = 0; lane < lanes; ++lane) sums[lane] += weights[i + lane] * gradient[i + lane];
    }
    float sum = 0;
    for (uint64_t lane = 0; lane < lanes; ++lane) sum += sums[lane];
    for (; i < of.outputs; ++i) sum += weights[i] * gradient[i];
    call.input_gradient[at] = call.input[at] > 0 ? sum : 0;
  }
}

// v ← momentum · v + rate · (g + decay · w);  w ← w − v
struct UpdateArguments {
  static constexpr unsigned pointers = 3;
  float* weights;
  float* velocities;
  const float* gradients;
  uint64_t count;
  float momentum, rate, decay;
};
HOCKET_BOTH void update_share(const UpdateArguments& call, uint64_t thread, uint64_t threads) {
  for (uint64_t i = thread; i < call.count; i += threads) {
    float& velocity = call.velocities[i];
    velocity = call.momentum * velocity + call.rate * (call.gradients[i] + call.decay * call.weights[i]);
    call.weights[i] -= velocity;
  }
}

}  // namespace hocket::sgd
