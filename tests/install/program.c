/* Four ranks as threads would be usual; here one thread starts all four with asynchronous calls, then waits for each.
 */
#include <hocket/hocket.h>
#include <stdio.h>
#include <string.h>

enum { ranks = 4, count = 1000 };

static int failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, hocket_last_error());
  return 1;
}

int main(void) {
  static float data[ranks][count];
  hocket_comm* comms[ranks];
  hocket_work* works[ranks];
  char header_version[32];
  int rank, i;

  sprintf(header_version, "%d.%d.%d", HOCKET_VERSION_MAJOR, HOCKET_VERSION_MINOR, HOCKET_VERSION_PATCH);
  if (strcmp(header_version, hocket_version()) != 0) {
    fprintf(stderr, "hocket.h is of version %s, the library of %s\n", header_version, hocket_version());
    return 1;
  }

  if (hocket_comm_create_local(comms, ranks, NULL) != HOCKET_OK) return failed("hocket_comm_create_local");
  for (rank = 0; rank < ranks; ++rank) {
    for (i = 0; i < count; ++i) data[rank][i] = (float)(rank + i);
    if (hocket_allreduce(data[rank], data[rank], count, HOCKET_FLOAT32, HOCKET_SUM, comms[rank], NULL, &works[rank]) !=
        HOCKET_OK) {
      return failed("hocket_allreduce");
    }
  }
  for (rank = 0; rank < ranks; ++rank) {
    if (hocket_work_wait(works[rank], 0) != HOCKET_OK) return failed("hocket_work_wait");
    if (hocket_work_release(works[rank]) != HOCKET_OK) return failed("hocket_work_release");
  }
  for (rank = 0; rank < ranks; ++rank) {
    for (i = 0; i < count; ++i) {
      if (data[rank][i] != (float)(6 + 4 * i)) {
        fprintf(stderr, "rank %d, element %d: %f instead of %d\n", rank, i, (double)data[rank][i], 6 + 4 * i);
        return 1;
      }
    }
    if (hocket_comm_destroy(comms[rank]) != HOCKET_OK) return failed("hocket_comm_destroy");
  }
  printf("hocket %s: an allreduce of %d ranks is right\n", hocket_version(), (int)ranks);
  return 0;
}
