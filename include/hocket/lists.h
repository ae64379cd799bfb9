/* clang-format off */ /* laid out by hand, as a page to read */
/** @file
 *  Collectives on lists of tensors. */
#ifndef HOCKET_LISTS_H
#define HOCKET_LISTS_H

#include <stddef.h>
#include <stdint.h>

#include "hocket/api.h"
#include "hocket/call.h"
#include "hocket/comm.h"
#include "hocket/types.h"
#include "hocket/work.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @defgroup lists Lists of tensors
 *  The same collective on each of `number` tensors, as one call with one work. Small tensors travel together, so many of them
 *  cost about as much as one; large ones are not copied.
 *
 *  - All ranks give equal counts and types in the same order (otherwise MISMATCH). The list is read during the call only.
 *  - Each tensor by itself is in place or not, as in the call for one tensor. Outputs may not overlap the buffers of other
 *    tensors.
 *  - Sums of floats may be taken in another order than tensor by tensor, except in deterministic mode.
 *  - A list may be a member of a group, and may be persistent. The options apply to all tensors: a scalar needs a list of
 *    one type.
 *
 *  Errors: those of the call for one tensor; the message says which tensor. docs/reference/collectives.md.
 *  @{ */

/** One tensor of a list: the arguments of the call for one tensor. */
typedef struct hocket_tensor {
  const void* send;   /**< The input. In a broadcast, ignored on all ranks except the root. */
  void* recv;         /**< The output. In a reduce, ignored on all ranks except the root. */
  size_t count;       /**< Elements: of both buffers for allreduce, reduce and broadcast, of recv for reduce_scatter, of
                           send for allgather. */
  hocket_dtype dtype; /**< The type of the elements. Tensors of one list may have different types. */
} hocket_tensor;

/** hocket_allreduce() on each tensor. */
HOCKET_API hocket_result hocket_allreduce_list(const hocket_tensor* tensors, size_t number, hocket_op op,
                                               hocket_comm* comm, const hocket_call_options* options,
                                               hocket_work** work);

/** hocket_reduce() on each tensor. */
HOCKET_API hocket_result hocket_reduce_list(const hocket_tensor* tensors, size_t number, hocket_op op, int32_t root,
                                            hocket_comm* comm, const hocket_call_options* options, hocket_work** work);

/** hocket_reduce_scatter() on each tensor. */
HOCKET_API hocket_result hocket_reduce_scatter_list(const hocket_tensor* tensors, size_t number, hocket_op op,
                                                    hocket_comm* comm, const hocket_call_options* options,
                                                    hocket_work** work);

/** hocket_allgather() on each tensor. */
HOCKET_API hocket_result hocket_allgather_list(const hocket_tensor* tensors, size_t number, hocket_comm* comm,
                                               const hocket_call_options* options, hocket_work** work);

/** hocket_broadcast() on each tensor. */
HOCKET_API hocket_result hocket_broadcast_list(const hocket_tensor* tensors, size_t number, int32_t root,
                                               hocket_comm* comm, const hocket_call_options* options,
                                               hocket_work** work);

/** @} */

#ifdef __cplusplus
}
#endif

#endif
