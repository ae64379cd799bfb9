/* Messages: every rank passes on what it receives from its left neighbour, until each value is back at its owner. */
#include <hocket/hocket.h>
#include <stdio.h>

int main(void) {
  hocket_comm* comm = NULL;
  int32_t rank, size, step, right, left;
  int64_t mine, arrived = 0, sum = 0;

  if (hocket_comm_create(&comm, NULL) != HOCKET_OK) goto failed;
  if (hocket_comm_rank(comm, &rank) != HOCKET_OK || hocket_comm_size(comm, &size) != HOCKET_OK) goto failed;
  right = (rank + 1) % size;
  left = (rank + size - 1) % size;

  mine = rank;
  for (step = 0; step < size; ++step) {
    /* Both halves start together, so no rank has to receive before another one may send. */
    if (hocket_sendrecv(&mine, 1, right, &arrived, 1, left, HOCKET_INT64, comm, NULL, NULL) != HOCKET_OK) goto failed;
    sum += arrived;
    mine = arrived;
  }

  printf("rank %d of %d: got %lld back, and saw a sum of %lld\n", (int)rank, (int)size, (long long)mine,
         (long long)sum);
  hocket_comm_destroy(comm);
  return mine == rank && sum == (int64_t)size * (size - 1) / 2 ? 0 : 1;

failed:
  fprintf(stderr, "%s\n", hocket_last_error());
  hocket_comm_destroy(comm);
  return 1;
}
