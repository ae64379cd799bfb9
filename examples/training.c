/* A training loop in miniature: the ranks fit y = a x + b together. Each has points of its own, computes the gradient
 * of its mean squared error, and an allreduce averages the gradients, so that all ranks keep equal weights. */
#include <hocket/hocket.h>
#include <math.h>
#include <stdio.h>

enum { points = 64, steps = 400 };

/* The points of one rank lie on y = 3 x - 1. */
static float x_of(int rank, int size, int point) {
  return (float)(point * size + rank) / (float)(points * size);
}

int main(void) {
  hocket_comm* comm = NULL;
  int32_t rank, size;
  float weights[2] = {0, 0}, gradient[2], extremes[2];
  const float rate = 0.5f;
  int step, point;

  if (hocket_comm_create(&comm, NULL) != HOCKET_OK) goto failed;
  if (hocket_comm_rank(comm, &rank) != HOCKET_OK || hocket_comm_size(comm, &size) != HOCKET_OK) goto failed;

  for (step = 0; step < steps; ++step) {
    gradient[0] = gradient[1] = 0;
    for (point = 0; point < points; ++point) {
      const float x = x_of(rank, size, point), error = weights[0] * x + weights[1] - (3 * x - 1);
      gradient[0] += 2 * error * x / points;
      gradient[1] += 2 * error / points;
    }
    if (hocket_allreduce(gradient, gradient, 2, HOCKET_FLOAT32, HOCKET_AVG, comm, NULL, NULL) != HOCKET_OK) goto failed;
    weights[0] -= rate * gradient[0];
    weights[1] -= rate * gradient[1];
  }

  /* Equal gradients make equal weights: the least of all ranks is what each rank has. */
  if (hocket_allreduce(weights, extremes, 2, HOCKET_FLOAT32, HOCKET_MIN, comm, NULL, NULL) != HOCKET_OK) goto failed;
  printf("rank %d of %d: y = %.3f x %+.3f\n", (int)rank, (int)size, (double)weights[0], (double)weights[1]);
  hocket_comm_destroy(comm);
  return weights[0] == extremes[0] && weights[1] == extremes[1] && fabsf(weights[0] - 3) < 0.01f &&
                 fabsf(weights[1] + 1) < 0.01f
             ? 0
             : 1;

failed:
  fprintf(stderr, "%s\n", hocket_last_error());
  hocket_comm_destroy(comm);
  return 1;
}
