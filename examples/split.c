/* Split: the even ranks and the odd ranks each get a communicator of their own, and sum within it. */
#include <hocket/hocket.h>
#include <stdio.h>

int main(void) {
  hocket_comm *world = NULL, *half = NULL;
  int32_t rank, half_rank, half_size, member;
  int64_t sum, expected = 0;

  if (hocket_comm_create(&world, NULL) != HOCKET_OK) goto failed;
  if (hocket_comm_rank(world, &rank) != HOCKET_OK) goto failed;

  /* Ranks of one color share a child; the key orders them in it. */
  if (hocket_comm_split(world, rank % 2, rank, &half, NULL) != HOCKET_OK) goto failed;
  if (hocket_comm_rank(half, &half_rank) != HOCKET_OK || hocket_comm_size(half, &half_size) != HOCKET_OK) goto failed;

  sum = rank;
  if (hocket_allreduce(&sum, &sum, 1, HOCKET_INT64, HOCKET_SUM, half, NULL, NULL) != HOCKET_OK) goto failed;

  for (member = 0; member < half_size; ++member) expected += 2 * member + rank % 2;
  printf("rank %d is rank %d of the %d %s ranks, whose sum is %lld\n", (int)rank, (int)half_rank, (int)half_size,
         rank % 2 == 0 ? "even" : "odd", (long long)sum);
  hocket_comm_destroy(half);
  hocket_comm_destroy(world);
  return sum == expected && half_rank == rank / 2 ? 0 : 1;

failed:
  fprintf(stderr, "%s\n", hocket_last_error());
  hocket_comm_destroy(half);
  hocket_comm_destroy(world);
  return 1;
}
