/* clang-format off */ /* laid out by hand, as a page to read */
/** @file
 *  Collectives in which all ranks' blocks have the same size. */
#ifndef HOCKET_COLLECTIVES_H
#define HOCKET_COLLECTIVES_H

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

/** @defgroup collectives Collectives
 *  Every rank of the communicator makes the same call, with equal counts, dtype, op and root.
 *
 *  - Counts are in elements. Every function says how many elements each buffer holds.
 *  - `options` may be NULL.
 *  - With `work` == NULL the call blocks until this rank's part is done. Otherwise it starts the operation, stores a handle
 *    in *work and returns; the caller releases the handle with hocket_work_release(). Until the operation is complete, all
 *    buffers stay valid, and inputs unchanged.
 *  - "In place" has the meaning that it has in NCCL; every function says which pointers are equal then. Any other overlap
 *    of the two buffers is an INVALID_ARGUMENT.
 *  - A count of 0 moves nothing and succeeds. A buffer without elements may be NULL.
 *
 *  Errors of all: INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_RESOURCES, PEER_LOST, TIMEOUT, ABORTED, MISMATCH, PROTOCOL_ERROR.
 *  @{ */

/** recv[i] is the reduction of send[i] of all ranks. Both buffers hold `count` elements. In place: send == recv. */
HOCKET_API hocket_result hocket_allreduce(const void* send, void* recv, size_t count, hocket_dtype dtype, hocket_op op,
                                          hocket_comm* comm, const hocket_call_options* options, hocket_work** work);

/** Only `root` receives the reduction. Both buffers hold `count` elements; `recv` is ignored on all other ranks.
 *  In place at the root: send == recv. */
HOCKET_API hocket_result hocket_reduce(const void* send, void* recv, size_t count, hocket_dtype dtype, hocket_op op,
                                       int32_t root, hocket_comm* comm, const hocket_call_options* options,
                                       hocket_work** work);

/** Rank r receives block r of the reduction. `send` holds world_size blocks of `recvcount` elements, `recv` holds one.
 *  In place: recv == send + rank * recvcount. */
HOCKET_API hocket_result hocket_reduce_scatter(const void* send, void* recv, size_t recvcount, hocket_dtype dtype,
                                               hocket_op op, hocket_comm* comm, const hocket_call_options* options,
                                               hocket_work** work);

/** Block r of every rank's `recv` is rank r's `send`. `send` holds `sendcount` elements, `recv` world_size times as many.
 *  In place: send == recv + rank * sendcount. */
HOCKET_API hocket_result hocket_allgather(const void* send, void* recv, size_t sendcount, hocket_dtype dtype,
                                          hocket_comm* comm, const hocket_call_options* options, hocket_work** work);

/** Every rank's `recv` is the root's `send`. Both buffers hold `count` elements; `send` is ignored on all other ranks.
 *  In place: send == recv. */
HOCKET_API hocket_result hocket_broadcast(const void* send, void* recv, size_t count, hocket_dtype dtype, int32_t root,
                                          hocket_comm* comm, const hocket_call_options* options, hocket_work** work);

/** Rank r's `recv` is block r of the root's `send`. `recv` holds `recvcount` elements, `send` world_size times as many;
 *  `send` is ignored on all other ranks. In place at the root: recv == send + root * recvcount. */
HOCKET_API hocket_result hocket_scatter(const void* send, void* recv, size_t recvcount, hocket_dtype dtype, int32_t root,
                                        hocket_comm* comm, const hocket_call_options* options, hocket_work** work);

/** Block r of the root's `recv` is rank r's `send`. `send` holds `sendcount` elements, `recv` world_size times as many;
 *  `recv` is ignored on all other ranks. In place at the root: send == recv + root * sendcount. */
HOCKET_API hocket_result hocket_gather(const void* send, void* recv, size_t sendcount, hocket_dtype dtype, int32_t root,
                                       hocket_comm* comm, const hocket_call_options* options, hocket_work** work);

/** Block j of rank i's `send` becomes block i of rank j's `recv`. Both buffers hold world_size blocks of `count` elements.
 *  In place: send == recv; the library then copies the input first. */
HOCKET_API hocket_result hocket_alltoall(const void* send, void* recv, size_t count, hocket_dtype dtype, hocket_comm* comm,
                                         const hocket_call_options* options, hocket_work** work);

/** Rank r receives the reduction over the ranks 0 … r. Both buffers hold `count` elements. Operands are combined in rank
 *  order, so op need not be commutative; #HOCKET_AVG is an INVALID_ARGUMENT. In place: send == recv. */
HOCKET_API hocket_result hocket_scan(const void* send, void* recv, size_t count, hocket_dtype dtype, hocket_op op,
                                     hocket_comm* comm, const hocket_call_options* options, hocket_work** work);

/** Rank r receives the reduction over the ranks 0 … r-1, otherwise as in hocket_scan(). Rank 0's `recv` is ignored, and
 *  what it points to stays unchanged. */
HOCKET_API hocket_result hocket_exscan(const void* send, void* recv, size_t count, hocket_dtype dtype, hocket_op op,
                                       hocket_comm* comm, const hocket_call_options* options, hocket_work** work);

/** Returns, or completes, on no rank before every rank has called it. */
HOCKET_API hocket_result hocket_barrier(hocket_comm* comm, const hocket_call_options* options, hocket_work** work);

/** Makes the collective or message with that number, for programs that learn at run time what to call. Arguments and errors
 *  are those of its own function; arguments that it does not have are ignored. `count` is what its function calls count,
 *  recvcount or sendcount, and `root` is the peer of a message. A collective with blocks of unequal size, which needs counts,
 *  is an INVALID_ARGUMENT. */
HOCKET_API hocket_result hocket_call(hocket_collective collective, const void* send, void* recv, size_t count,
                                     hocket_dtype dtype, hocket_op op, int32_t root, hocket_comm* comm,
                                     const hocket_call_options* options, hocket_work** work);

/** @} */

#ifdef __cplusplus
}
#endif

#endif
