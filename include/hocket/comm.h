/* clang-format off */ /* laid out by hand, as a page to read */
/** @file
 *  Communicators: creating, asking, aborting, destroying. */
#ifndef HOCKET_COMM_H
#define HOCKET_COMM_H

#include <stddef.h>
#include <stdint.h>

#include "hocket/api.h"
#include "hocket/store.h"
#include "hocket/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @defgroup communicators Communicators
 *  @{ */

/** One rank's membership in a group of ranks. */
typedef struct hocket_comm hocket_comm;

/** How to create a communicator. A zero field is taken from the environment, or else has its default;
 *  docs/reference/environment.md lists the variables. Strings are read during the call. */
typedef struct hocket_comm_options {
  size_t struct_size;    /**< sizeof(hocket_comm_options), set by #HOCKET_COMM_OPTIONS_INIT. */
  int32_t world_size;    /**< The number of ranks. 0: HOCKET_WORLD_SIZE, else WORLD_SIZE, else the launcher's variable. */
  int32_t rank;          /**< 0 … world_size-1. Read only if world_size is given; otherwise the rank comes from
                              HOCKET_RANK, else RANK, else the launcher's variable. */
  const char* store;     /**< Where ranks meet: "tcp://host:port" or "file:///path". NULL: HOCKET_STORE; if that is not
                              set either, rank 0 serves the store at MASTER_ADDR:MASTER_PORT and the others connect. */
  int64_t timeout_ms;    /**< The deadline of creation, and of every call that names none, in milliseconds.
                              0: HOCKET_TIMEOUT_MS, else 300,000. All beyond a year is a year. */
  const char* name;      /**< Separates jobs that share a store; equal on all ranks. NULL: HOCKET_JOB, else "default". */
  const char* transport; /**< "auto", or a name that `hocket-plan settings` lists. NULL: HOCKET_TRANSPORT, else "auto". */
  const char* algorithm; /**< "auto", a name that hocket-plan lists, or names by collective and size, such as
                              "allreduce=linear:4K,ring" (docs/guide/choosing.md); equal on all ranks.
                              NULL: HOCKET_ALGORITHM, else "auto". */
  int32_t deterministic; /**< 1: the bits of reductions depend only on the inputs and the number of ranks. Operands are
                              combined in rank order, ((x0 op x1) op x2) …, float32 travels exactly whatever a call
                              permits, and an algorithm that combines in another order is UNSUPPORTED. -1: not so.
                              0: HOCKET_DETERMINISTIC, else not. Equal on all ranks. docs/reference/determinism.md. */
  const hocket_store_callbacks* store_callbacks; /**< Not NULL: where ranks meet, a store of the caller's; then `store` must
                              be NULL, and the environment's store is ignored. The struct is read during the call. */
  const char* secret;    /**< 16 … 1,024 characters that strangers cannot guess; equal on all ranks. Both sides of every
                              connection prove that they know it, and never send it. NULL: HOCKET_SECRET, else what the file
                              HOCKET_SECRET_FILE holds; else, on one host or with a store that others cannot read, the ranks
                              make one, and on several hosts creation fails. docs/guide/security.md. */
} hocket_comm_options;

/** Options that leave everything to the environment. */
#define HOCKET_COMM_OPTIONS_INIT { sizeof(hocket_comm_options), 0, 0, NULL, 0, NULL, NULL, NULL, 0, NULL, NULL }

/** Joins the group and stores the new communicator in *comm; the caller destroys it with hocket_comm_destroy().
 *
 *  Collective: every rank of the group calls it. It returns when this rank has reached its neighbours and knows the
 *  address of every rank. `options` may be NULL.
 *
 *  Errors: INVALID_ARGUMENT, INVALID_ENVIRONMENT, ADDRESS_IN_USE, STORE_UNREACHABLE, RANK_TAKEN, MISMATCH (ranks disagree
 *  on the size or on options), TIMEOUT (names the ranks that did not come), PEER_LOST, UNSUPPORTED, OUT_OF_RESOURCES. */
HOCKET_API hocket_result hocket_comm_create(hocket_comm** comm, const hocket_comm_options* options);

/** Creates all `world_size` communicators of one group in this process, for ranks that are threads: comms[i] is rank i.
 *
 *  The ranks exchange data in memory (the loopback transport), without a store. `options` may be NULL; its rank,
 *  world_size and store are ignored. The caller destroys each communicator.
 *
 *  Errors: INVALID_ARGUMENT, INVALID_ENVIRONMENT, OUT_OF_RESOURCES. */
HOCKET_API hocket_result hocket_comm_create_local(hocket_comm** comms, int32_t world_size,
                                                  const hocket_comm_options* options);

/** Leaves the group and frees the communicator. NULL is allowed.
 *
 *  Pending asynchronous operations end with ABORTED, so wait for them first (children with share_links differ, see
 *  hocket_comm_split()). No other thread may be inside a call on the communicator. Work handles stay valid until they are
 *  released. The call does not wait for other ranks, with two exceptions: while a rank has no room yet for what this one
 *  has sent over TCP (for ten seconds at most), and a rank 0 that serves the store stays until the others have left (for
 *  one second at most). */
HOCKET_API hocket_result hocket_comm_destroy(hocket_comm* comm);

/** Breaks the communicator on all ranks: pending and later calls end with ABORTED.
 *
 *  It returns at once, from any thread and in any state. A communicator that is already broken keeps its first cause.
 *  `reason` becomes part of the message and may be NULL.
 *
 *  Errors: INVALID_ARGUMENT. */
HOCKET_API hocket_result hocket_comm_abort(hocket_comm* comm, const char* reason);

/** HOCKET_OK while the communicator works, otherwise the code of what broke it; hocket_last_cause() then has the details.
 *  Any thread; never blocks. */
HOCKET_API hocket_result hocket_comm_status(hocket_comm* comm);

/** Stores this process's rank, 0 … world_size-1. Any thread; never blocks. Errors: INVALID_ARGUMENT (null). */
HOCKET_API hocket_result hocket_comm_rank(const hocket_comm* comm, int32_t* rank);

/** Stores the number of ranks. Any thread; never blocks. Errors: INVALID_ARGUMENT (null). */
HOCKET_API hocket_result hocket_comm_size(const hocket_comm* comm, int32_t* world_size);

/** Writes what this rank has done and does, for people and for hocket-doctor (docs/guide/what-happened.md): its last 1,024
 *  operations, what waits now and for whom, and what broke the communicator, if anything did.
 *
 *  `path` names the file, which appears complete or not at all; NULL: a file in the folder that HOCKET_RECORD_DIR names. A
 *  communicator that shares links with others writes of all of them. Any thread, at any time, also while another thread
 *  hangs inside a call; it waits for nothing but the file system.
 *
 *  Errors: INVALID_ARGUMENT (null, or the file cannot be written), OUT_OF_RESOURCES. */
HOCKET_API hocket_result hocket_comm_record(hocket_comm* comm, const char* path);

/** What a communicator has done so far on this rank, counted as it happened; a message when it is handed to its link. */
typedef struct hocket_counters {
  size_t struct_size;      /**< sizeof(hocket_counters), set by #HOCKET_COUNTERS_INIT. */
  uint64_t operations;     /**< Completed operations. */
  uint64_t steps;          /**< Send steps of schedules; a step counts once, however many slices it was cut into. */
  uint64_t messages_sent;  /**< Messages sent. */
  uint64_t bytes_sent;     /**< Bytes of payload sent, without headers. */
  uint64_t bytes_received; /**< Bytes of payload received, without headers. */
} hocket_counters;

/** Empty counters. */
#define HOCKET_COUNTERS_INIT { sizeof(hocket_counters), 0, 0, 0, 0, 0 }

/** Copies the counters to *counters, which the caller has initialised with #HOCKET_COUNTERS_INIT. Any thread; never blocks.
 *  Errors: INVALID_ARGUMENT (null, or struct_size is too small). */
HOCKET_API hocket_result hocket_comm_counters(hocket_comm* comm, hocket_counters* counters);

/** What a communicator has exchanged with one of its ranks so far, counted on this rank as it happened.
 *
 *  Over links, messages are counted, also those that an algorithm passes on for others. A collective over shared memory
 *  sends no messages; of it are counted the bytes of each rank's input that another one's output takes.
 *
 *  A wait begins when the thread that makes progress has found nothing to do for about a microsecond, and ends when
 *  something happens. It counts for the first rank that is missing then. */
typedef struct hocket_peer_counters {
  size_t struct_size;         /**< sizeof(hocket_peer_counters), set by #HOCKET_PEER_COUNTERS_INIT. */
  uint64_t messages_sent;     /**< Messages sent to it. */
  uint64_t messages_received; /**< Messages that were received from it, or are awaited now. */
  uint64_t bytes_sent;        /**< Bytes of payload sent to it, without headers. */
  uint64_t bytes_received;    /**< Bytes of payload received from it, or awaited now, without headers. */
  uint64_t waits;             /**< How often this rank waited for it; without a wait that goes on. */
  uint64_t waited_ns;         /**< How long in all, in nanoseconds. */
} hocket_peer_counters;

/** Empty counters. */
#define HOCKET_PEER_COUNTERS_INIT { sizeof(hocket_peer_counters), 0, 0, 0, 0, 0, 0 }

/** Copies what was counted of `rank` to *counters, which the caller has initialised with #HOCKET_PEER_COUNTERS_INIT; of this
 *  rank itself, nothing is counted. Any thread; never blocks.
 *  Errors: INVALID_ARGUMENT (null, no such rank, or struct_size is too small). */
HOCKET_API hocket_result hocket_comm_peer_counters(hocket_comm* comm, int32_t rank, hocket_peer_counters* counters);

/** @} */

#ifdef __cplusplus
}
#endif

#endif
