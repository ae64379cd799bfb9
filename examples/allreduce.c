/* The first program: every rank contributes its number, and all ranks get the sum. */
#include <hocket/hocket.h>
#include <stdio.h>

int main(void) {
  hocket_comm* comm = NULL;
  int32_t rank, size;
  float value, expected;

  /* Rank, number of ranks and meeting point come from the launcher. */
  if (hocket_comm_create(&comm, NULL) != HOCKET_OK) goto failed;
  if (hocket_comm_rank(comm, &rank) != HOCKET_OK || hocket_comm_size(comm, &size) != HOCKET_OK) goto failed;

  value = (float)(rank + 1);
  if (hocket_allreduce(&value, &value, 1, HOCKET_FLOAT32, HOCKET_SUM, comm, NULL, NULL) != HOCKET_OK) goto failed;

  expected = (float)(size * (size + 1) / 2);
  printf("rank %d of %d: the sum is %g\n", (int)rank, (int)size, (double)value);
  hocket_comm_destroy(comm);
  return value == expected ? 0 : 1;

failed:
  fprintf(stderr, "%s\n", hocket_last_error());
  hocket_comm_destroy(comm);
  return 1;
}
