/* clang-format off */ /* laid out by hand, as a page to read */
/** @file
 *  Collectives with blocks of unequal size. */
#ifndef HOCKET_COLLECTIVES_V_H
#define HOCKET_COLLECTIVES_V_H

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

/** @defgroup collectives_v Collectives with blocks of unequal size
 *  The collectives of the same name, with a size for each block; everything that holds for those holds here.
 *
 *  - Lists have one entry for each rank and are read during the call only.
 *  - Counts are in elements and may be 0; a buffer without elements may be NULL.
 *  - Displacements are in elements from the start of the buffer. NULL means that each block follows the previous one.
 *    Displacements may leave gaps, which stay unchanged, and need not ascend. Blocks of `recv` may not overlap.
 *  - In place, this rank's block has the same address in both buffers. Nothing else may overlap.
 *  - Between ranks that share memory, large blocks of scatter_v, gather_v and alltoall_v travel as messages. The other two
 *    need no messages, but between two ranks some of their calls are faster with them.
 *
 *  Errors: those of the other collectives; INVALID_ARGUMENT also if the counts add up to more than fits in memory.
 *  docs/reference/unequal-blocks.md.
 *  @{ */

/** Block r of every rank's `recv`, recvcounts[r] elements at displacements[r], is rank r's `send`, of sendcount ==
 *  recvcounts[rank] elements. `recvcounts` are equal on all ranks (otherwise MISMATCH); displacements may differ.
 *  In place: send == recv + displacements[rank]. */
HOCKET_API hocket_result hocket_allgather_v(const void* send, size_t sendcount, void* recv, const size_t* recvcounts,
                                            const size_t* displacements, hocket_dtype dtype, hocket_comm* comm,
                                            const hocket_call_options* options, hocket_work** work);

/** Rank r receives block r of the reduction, recvcounts[r] elements. `send` holds all blocks, one after the other.
 *  `recvcounts` are equal on all ranks (otherwise MISMATCH). In place: recv == send + the sum of the counts before this
 *  rank's. */
HOCKET_API hocket_result hocket_reduce_scatter_v(const void* send, void* recv, const size_t* recvcounts,
                                                 hocket_dtype dtype, hocket_op op, hocket_comm* comm,
                                                 const hocket_call_options* options, hocket_work** work);

/** Rank r's `recv`, of recvcount elements, is block r of the root's `send`, sendcounts[r] elements at displacements[r].
 *  `send` and the lists are ignored on all other ranks. A recvcount that differs from the root's sendcounts[r] is a
 *  MISMATCH. In place at the root: recv == send + displacements[root]. */
HOCKET_API hocket_result hocket_scatter_v(const void* send, const size_t* sendcounts, const size_t* displacements,
                                          void* recv, size_t recvcount, hocket_dtype dtype, int32_t root,
                                          hocket_comm* comm, const hocket_call_options* options, hocket_work** work);

/** Block r of the root's `recv`, recvcounts[r] elements at displacements[r], is rank r's `send`, of sendcount elements.
 *  `recv` and the lists are ignored on all other ranks. A sendcount that differs from the root's recvcounts[r] is a
 *  MISMATCH. In place at the root: send == recv + displacements[root]. */
HOCKET_API hocket_result hocket_gather_v(const void* send, size_t sendcount, void* recv, const size_t* recvcounts,
                                         const size_t* displacements, hocket_dtype dtype, int32_t root,
                                         hocket_comm* comm, const hocket_call_options* options, hocket_work** work);

/** Block j of rank i's `send`, sendcounts[j] elements at senddispls[j], becomes block i of rank j's `recv`, recvcounts[i]
 *  elements at recvdispls[i]. What rank i sends to j must be what j receives from i (otherwise MISMATCH).
 *  In place: send == recv, with equal counts and displacements for both; the library then copies the input first. */
HOCKET_API hocket_result hocket_alltoall_v(const void* send, const size_t* sendcounts, const size_t* senddispls,
                                           void* recv, const size_t* recvcounts, const size_t* recvdispls,
                                           hocket_dtype dtype, hocket_comm* comm, const hocket_call_options* options,
                                           hocket_work** work);

/** @} */

#ifdef __cplusplus
}
#endif

#endif
