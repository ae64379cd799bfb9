/* clang-format off */ /* laid out by hand, as a page to read */
/** @file
 *  Taking in new processes. */
#ifndef HOCKET_JOIN_H
#define HOCKET_JOIN_H

#include <stddef.h>
#include <stdint.h>

#include "hocket/api.h"
#include "hocket/comm.h"
#include "hocket/creation.h"
#include "hocket/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @defgroup join Taking in new processes
 *  The ranks of a communicator and processes that come later, the newcomers, meet at a named point of a store and make a
 *  larger communicator. HOCKET_NEWCOMER tells a process that it is a newcomer. docs/guide/recovery.md.
 *  @{ */

/** Where and for whom to wait. */
typedef struct hocket_join_options {
  size_t struct_size;    /**< sizeof(hocket_join_options), set by #HOCKET_JOIN_OPTIONS_INIT. */
  int64_t timeout_ms;    /**< How long to wait for newcomers, or as a newcomer to be taken in, in milliseconds. 0: as long as
                              options.timeout_ms says. */
  int32_t newcomers_min; /**< Members: how many newcomers to wait for. 0: take in those that are there, and do not wait. */
  int32_t newcomers_max; /**< Members: how many to take in at most. 0: newcomers_min, which then must not be 0. */
  const char* point;     /**< The joining point, at most 128 characters; equal on all. NULL: HOCKET_JOINING_POINT, else "default". */
} hocket_join_options;

/** One newcomer, at the point that the environment names. */
#define HOCKET_JOIN_OPTIONS_INIT { sizeof(hocket_join_options), 0, 1, 0, NULL }

/** Makes a communicator of the ranks of `comm` and of newcomers, and stores it in *joined; the caller destroys it.
 *
 *  Collective over `comm`, which must work (shrink it first where ranks have died) and stays as it is. A newcomer calls it
 *  with `comm` NULL, and is taken in by members that call it next. The members are the first ranks, in their old order; the
 *  newcomers follow. newcomers_min, newcomers_max and timeout_ms of the members' rank 0 count for all members. If
 *  newcomers_min is 0 and nobody is there, *joined is NULL on all members.
 *
 *  `options` are those of hocket_comm_create(), without rank and world size. They must name a store that does not end with a
 *  rank (HOCKET_STORE, options.store or store_callbacks with `list`), and the same store and job for all. `join` and
 *  `options` may be NULL. timeout_ms is for waiting; each attempt to make the communicator may take options.timeout_ms more.
 *
 *  If a newcomer dies meanwhile, the members wait for another one until their time is over, and the other newcomers wait
 *  with them. If a member dies, the call fails on all members, and the newcomers go on waiting: shrink and join again. The
 *  new communicator may be broken at once, if a rank dies just after it was made. Several communicators may take newcomers
 *  in at one point; each newcomer then goes to one of them.
 *
 *  Errors: INVALID_ARGUMENT; INVALID_ENVIRONMENT (no such store); STORE_UNREACHABLE (`comm` still works, and a newcomer may
 *  call again); UNSUPPORTED (the caller's store has no `list`); TIMEOUT (too few newcomers came; a newcomer was not taken in);
 *  PEER_LOST and whatever else broke `comm`; MISMATCH (the point or options differ); those of hocket_comm_create(). What
 *  another attempt would not mend, a MISMATCH for instance, ends the call on all members. On failure *joined is NULL. */
HOCKET_API hocket_result hocket_comm_join(hocket_comm* comm, hocket_comm** joined, const hocket_join_options* join,
                                          const hocket_comm_options* options);

/** Starts what hocket_comm_join() does, as hocket_comm_split_start() starts a split: until the creation is complete, `comm`
 *  is to be left alone. Giving up a creation of a member breaks `comm` (ABORTED).
 *
 *  Errors: INVALID_ARGUMENT, INVALID_ENVIRONMENT, OUT_OF_RESOURCES. */
HOCKET_API hocket_result hocket_comm_join_start(hocket_comm* comm, hocket_creation** creation,
                                                const hocket_join_options* join, const hocket_comm_options* options);

/** @} */

#ifdef __cplusplus
}
#endif

#endif
