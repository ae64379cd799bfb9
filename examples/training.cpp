// A training loop in miniature: the ranks fit y = a x + b together. Each has points of its own, computes the gradient
// of its mean squared error, and an allreduce averages the gradients, so that all ranks keep equal weights.
#include <array>
#include <cmath>
#include <cstdio>
#include <hocket/hocket.hpp>

constexpr int points = 64, steps = 400;
constexpr float rate = 0.5f;

// The points of one rank lie on y = 3 x - 1.
static float x_of(int rank, int size, int point) {
  return static_cast<float>(point * size + rank) / static_cast<float>(points * size);
}

int main() try {
  hocket::Communicator comm = hocket::Communicator::create();
  std::array<float, 2> weights = {0, 0};

  for (int step = 0; step < steps; ++step) {
    std::array<float, 2> gradient = {0, 0};
    for (int point = 0; point < points; ++point) {
      const float x = x_of(comm.rank(), comm.size(), point), error = weights[0] * x + weights[1] - (3 * x - 1);
      gradient[0] += 2 * error * x / points;
      gradient[1] += 2 * error / points;
    }
    comm.allreduce(gradient, hocket::Op::avg);
    weights[0] -= rate * gradient[0];
    weights[1] -= rate * gradient[1];
  }

  // Equal gradients make equal weights: the least of all ranks is what each rank has.
  std::array<float, 2> least = {0, 0};
  comm.allreduce(weights, least, hocket::Op::min);
  std::printf("rank %d of %d: y = %.3f x %+.3f\n", comm.rank(), comm.size(), static_cast<double>(weights[0]),
              static_cast<double>(weights[1]));
  const bool fits = std::abs(weights[0] - 3) < 0.01f && std::abs(weights[1] + 1) < 0.01f;
  return weights == least && fits ? 0 : 1;
} catch (const hocket::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
