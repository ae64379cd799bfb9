/* clang-format off */ /* laid out by hand, as a page to read */
/* Hocket's collectives on lists of tensors. Part of the C99 contract; users include hocket/hocket.h, which includes this. */
#ifndef HOCKET_LISTS_H
#define HOCKET_LISTS_H

#include <stddef.h>
#include <stdint.h>

#include "hocket/hocket.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One tensor of a list: what the call for one tensor takes. */
typedef struct hocket_tensor {
  const void* send;   /* of a broadcast: ignored where the rank is not the root */
  void* recv;         /* of a reduce: ignored where the rank is not the root */
  size_t count;       /* of allreduce, reduce and broadcast: elements of both; of reduce_scatter: of recv; of allgather: of send */
  hocket_dtype dtype; /* tensors of a list may be of several types */
} hocket_tensor;

/* The same collective on each of `number` tensors, as one call with one work. Small tensors travel together, so many cost about as
 * much as one; large ones go from and to where they lie. The list itself is read during the call only. In place or not, each tensor
 * by itself, as the call for one has it; outputs may not overlap other tensors' buffers. All ranks give equal counts and types in the
 * same order, else: MISMATCH. Sums of floats may be taken in another order than tensor by tensor (not in deterministic mode). A list may
 * be a member of a group, and be persistent. The options hold for all tensors: a scalar needs a list of one type. Errors: those of the
 * call for one tensor, and the message says which tensor. docs/reference/collectives.md. */
HOCKET_API hocket_result hocket_allreduce_list(const hocket_tensor* tensors, size_t number, hocket_op op, hocket_comm* comm,
                                               const hocket_call_options* options, hocket_work** work);
HOCKET_API hocket_result hocket_reduce_list(const hocket_tensor* tensors, size_t number, hocket_op op, int32_t root,
                                            hocket_comm* comm, const hocket_call_options* options, hocket_work** work);
HOCKET_API hocket_result hocket_reduce_scatter_list(const hocket_tensor* tensors, size_t number, hocket_op op, hocket_comm* comm,
                                                    const hocket_call_options* options, hocket_work** work);
HOCKET_API hocket_result hocket_allgather_list(const hocket_tensor* tensors, size_t number, hocket_comm* comm,
                                               const hocket_call_options* options, hocket_work** work);
HOCKET_API hocket_result hocket_broadcast_list(const hocket_tensor* tensors, size_t number, int32_t root, hocket_comm* comm,
                                               const hocket_call_options* options, hocket_work** work);

#ifdef __cplusplus
}
#endif

#endif
