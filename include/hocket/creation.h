/* clang-format off */ /* laid out by hand, as a page to read */
/** @file
 *  Creating communicators while the caller does other things. */
#ifndef HOCKET_CREATION_H
#define HOCKET_CREATION_H

#include <stddef.h>
#include <stdint.h>

#include "hocket/api.h"
#include "hocket/comm.h"
#include "hocket/split.h"
#include "hocket/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @defgroup creation Creation in the background
 *  A communicator is created on a thread of its own while the caller does other things. Some ranks may use these functions
 *  and others those that wait. Release every handle with hocket_creation_destroy(), even if the creation failed.
 *  docs/guide/communicators.md.
 *  @{ */

/** A communicator that is being created. */
typedef struct hocket_creation hocket_creation;

/** Starts what hocket_comm_create() does, stores a handle in *creation and returns at once. `options` are read during the
 *  call. A mistake in the options is an error of this call; every other failure is reported by test and wait.
 *
 *  Errors: INVALID_ARGUMENT, INVALID_ENVIRONMENT, OUT_OF_RESOURCES. */
HOCKET_API hocket_result hocket_comm_create_start(hocket_creation** creation, const hocket_comm_options* options);

/** Starts what hocket_comm_split() does.
 *
 *  A split is up to three calls on the parent, and their place among other calls must be the same on all ranks. So until
 *  the creation is complete, `parent` may not be destroyed, and nothing may be called on it except hocket_comm_abort(),
 *  _status, _rank, _size and _counters. Operations that were started before continue.
 *
 *  Errors: INVALID_ARGUMENT, OUT_OF_RESOURCES. */
HOCKET_API hocket_result hocket_comm_split_start(hocket_comm* parent, int32_t color, int32_t key,
                                                 hocket_creation** creation, const hocket_split_options* options);

/** HOCKET_OK when the communicator is ready, HOCKET_IN_PROGRESS while it is not, otherwise why there is none. Never blocks. */
HOCKET_API hocket_result hocket_creation_test(hocket_creation* creation);

/** Waits up to `timeout_ms` milliseconds (0: until the deadline of the creation), then returns what hocket_creation_test()
 *  returns.
 *
 *  On success *comm is the communicator, which the caller owns from now on, or NULL if a split gives this rank none;
 *  otherwise *comm is NULL. The communicator is handed over once: a second wait after success is an INVALID_ARGUMENT. */
HOCKET_API hocket_result hocket_creation_wait(hocket_creation* creation, int64_t timeout_ms, hocket_comm** comm);

/** Releases the handle. NULL is allowed.
 *
 *  A creation that is not complete is given up. The ranks that wait for this one get MISMATCH if ranks have not met yet and
 *  ABORTED afterwards; giving up a split breaks the parent (ABORTED). A communicator that nobody took is destroyed.
 *
 *  The call returns when the creation's thread has ended: within a second, unless a name server or a store is alive but
 *  silent; then by the creation's deadline at the latest. */
HOCKET_API hocket_result hocket_creation_destroy(hocket_creation* creation);

/** @} */

#ifdef __cplusplus
}
#endif

#endif
