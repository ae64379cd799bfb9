/* Overlap: an allreduce is on its way while the rank computes something else. */
#include <hocket/hocket.h>
#include <stdio.h>
#include <stdlib.h>

enum { count = 1 << 20 };

/* Stands for whatever a program computes meanwhile: the number of primes below `limit`. */
static int primes_below(int limit) {
  int found = 0, number, divisor;
  for (number = 2; number < limit; ++number) {
    for (divisor = 2; divisor * divisor <= number && number % divisor != 0; ++divisor) continue;
    if (divisor * divisor > number) ++found;
  }
  return found;
}

int main(void) {
  hocket_comm* comm = NULL;
  hocket_work* work = NULL;
  float* data = malloc(count * sizeof *data);
  int32_t rank, size;
  int i, primes, wrong = 0;

  if (data == NULL) return 1;
  if (hocket_comm_create(&comm, NULL) != HOCKET_OK) goto failed;
  if (hocket_comm_rank(comm, &rank) != HOCKET_OK || hocket_comm_size(comm, &size) != HOCKET_OK) goto failed;

  for (i = 0; i < count; ++i) data[i] = (float)(rank + 1);
  /* With a work handle the call returns at once. `data` belongs to Hocket until the work is complete. */
  if (hocket_allreduce(data, data, count, HOCKET_FLOAT32, HOCKET_SUM, comm, NULL, &work) != HOCKET_OK) goto failed;
  primes = primes_below(100000);
  if (hocket_work_wait(work, 0) != HOCKET_OK) goto failed;

  for (i = 0; i < count; ++i) wrong += data[i] != (float)(size * (size + 1) / 2);
  printf("rank %d of %d: %d primes counted during an allreduce, %d wrong sums\n", (int)rank, (int)size, primes, wrong);
  hocket_work_release(work);
  hocket_comm_destroy(comm);
  free(data);
  return wrong == 0 && primes == 9592 ? 0 : 1;

failed:
  fprintf(stderr, "%s\n", hocket_last_error());
  hocket_work_release(work);
  hocket_comm_destroy(comm);
  free(data);
  return 1;
}
