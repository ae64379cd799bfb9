/* clang-format off */ /* laid out by hand, as a page to read */
/** @file
 *  Going on without the ranks that are gone. */
#ifndef HOCKET_SHRINK_H
#define HOCKET_SHRINK_H

#include <stddef.h>
#include <stdint.h>

#include "hocket/api.h"
#include "hocket/comm.h"
#include "hocket/creation.h"
#include "hocket/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @defgroup shrink Going on without the dead
 *  When a rank dies, its communicator breaks on all ranks. The survivors then make a smaller one, without a store and
 *  without having to know who died. docs/guide/recovery.md.
 *  @{ */

/** How to shrink a communicator. */
typedef struct hocket_shrink_options {
  size_t struct_size;  /**< sizeof(hocket_shrink_options), set by #HOCKET_SHRINK_OPTIONS_INIT. */
  int64_t timeout_ms;  /**< The deadline of this call in milliseconds. 0: that of the communicator. */
  int64_t patience_ms; /**< How long to wait for ranks that do not come, though their processes may be alive, from the time
                            when this rank begins or begins anew, in milliseconds; twice that for a rank that waits for
                            others itself. 0: a third of the deadline. */
  int32_t minority;    /**< 1: go on without such ranks even if fewer than half of the ranks are left, because the caller
                            knows that they are gone. 0: go on without them only by a majority of the ranks that may be
                            alive (of two halves, the one with the lowest rank), so that two groups that cannot reach each
                            other never both go on. Ranks that have provably ended never count. */
  const char* name;    /**< The name of the new communicator in messages. NULL: the old one's, followed by "/shrink". */
} hocket_shrink_options;

/** Options that follow the communicator. */
#define HOCKET_SHRINK_OPTIONS_INIT { sizeof(hocket_shrink_options), 0, 0, 0, NULL }

/** Makes a communicator of the ranks of `comm` that are still there, and stores it in *shrunk; the caller destroys both.
 *
 *  Every rank that goes on calls it, when it has learned that `comm` is broken; a `comm` that still works is aborted first.
 *  All that return HOCKET_OK have the same members, in the order of their old ranks and numbered from 0. Ranks may die
 *  meanwhile: then the others agree anew. The new communicator has the options of the old one, can be shrunk again, and
 *  needs no store.
 *
 *  A rank that has ended is left out at once. So is one for which others waited in vain until `comm` broke with TIMEOUT;
 *  if it comes back it gets EXCLUDED, and cannot disturb the others, except that it may still write into registered memory
 *  of a call that failed: do not use such memory again after a TIMEOUT. Any other rank that is missing is waited for as long
 *  as `patience_ms` says.
 *
 *  On failure *shrunk is NULL, and the call may be made again, except after EXCLUDED; a rank that OUT_OF_RESOURCES has cut off
 *  from the others, which see it leave, gets that again. `options` may be NULL. No other call on
 *  `comm` may run at the same time but hocket_comm_status(), _rank, _size and _counters.
 *
 *  Errors: INVALID_ARGUMENT; UNSUPPORTED (`comm` shares the links of its parent, has one rank, or is one of threads);
 *  whatever else keeps this rank from making the new communicator;
 *  EXCLUDED (the others go on without this rank; the cause says who told it); TIMEOUT (the cause names a rank that did not
 *  come, or says that there is no majority); OUT_OF_RESOURCES. */
HOCKET_API hocket_result hocket_comm_shrink(hocket_comm* comm, hocket_comm** shrunk, const hocket_shrink_options* options);

/** Starts what hocket_comm_shrink() does, as hocket_comm_create_start() starts a creation. `comm` may not be destroyed until
 *  the creation is complete. A creation that is given up counts as a rank that does not come.
 *
 *  Errors: INVALID_ARGUMENT, OUT_OF_RESOURCES. */
HOCKET_API hocket_result hocket_comm_shrink_start(hocket_comm* comm, hocket_creation** creation,
                                                  const hocket_shrink_options* options);

/** Stores in *previous which rank of the communicator that `comm` was made from by hocket_comm_shrink() or hocket_comm_join()
 *  has become rank `rank`; -1: it is a newcomer. Any thread; never blocks.
 *  Errors: INVALID_ARGUMENT (null, no such rank, or `comm` was made in another way). */
HOCKET_API hocket_result hocket_comm_previous_rank(const hocket_comm* comm, int32_t rank, int32_t* previous);

/** @} */

#ifdef __cplusplus
}
#endif

#endif
