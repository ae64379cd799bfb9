/* clang-format off */ /* laid out by hand, as a page to read */
/* Hocket: collective communication between processes. This C99 header is the contract and the only ABI.
 *
 * Conventions, stated once:
 *  - Every function that can fail returns a hocket_result. HOCKET_OK is 0. After anything else, hocket_last_error() and
 *    hocket_last_cause() describe the failure of the latest call on the calling thread.
 *  - `count` counts elements, never bytes. Where a buffer holds one block for each rank, the docstring says so.
 *  - The caller owns every data buffer and keeps it valid, and unchanged where it is an input, until the call returns or,
 *    for an asynchronous call, until its work is complete. Hocket never frees a caller's buffer.
 *  - All ranks call the same collectives on a communicator in the same order. A rank that calls something else is found
 *    out: all involved get HOCKET_MISMATCH with both calls in the message. It never hangs and never sums wrongly. A rank that
 *    A message that meets a collective is one, or a TIMEOUT where neither rank has sent anything yet. A rank that
 *    only sends (the root of a broadcast or scatter, the others of a reduce or gather) may return as soon as its data is
 *    on its way, and then gets such an error, or word of a peer's death, from a later call, if there is one.
 *  - A communicator may be used from several threads; calls take effect in the order in which they enter the library.
 *  - The first failure of communication (a dead peer, a deadline, a mismatch, an abort) breaks the communicator on every
 *    rank with the same first cause. Every later call returns that cause. Only hocket_comm_destroy() is useful then.
 *    An invalid argument, found before anything moves, does not break the communicator of the rank that made it, and its
 *    buffers are as they were. After any other failure, a mismatch of ranks among them, what an output buffer holds (in
 *    place, the input) is unspecified: others may have sent their part before it was found. Nothing beyond it is written.
 *  - Structs whose first member is `struct_size` can grow: set it to sizeof(the struct) and zero the rest (the *_INIT macros do).
 */
#ifndef HOCKET_HOCKET_H
#define HOCKET_HOCKET_H

#include <stddef.h>
#include <stdint.h>

#include "hocket/types.h"

#define HOCKET_VERSION_MAJOR 0
#define HOCKET_VERSION_MINOR 1
#define HOCKET_VERSION_PATCH 0

#if defined(_WIN32)
#define HOCKET_API
#else
#define HOCKET_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hocket_comm hocket_comm; /* a communicator: one rank's membership in a group of ranks */
typedef struct hocket_work hocket_work; /* a handle on one asynchronous or persistent operation, or on several together */

/* How to create a communicator. Zero fields are taken from the environment, then from the default. */
typedef struct hocket_comm_options {
  size_t struct_size;
  int32_t world_size; /* number of ranks; 0: HOCKET_WORLD_SIZE, else WORLD_SIZE, else the launcher's variable */
  int32_t rank;       /* 0 … world_size-1. Read only where world_size is given; else from HOCKET_RANK, RANK, … */
  const char* store;  /* store URL: "tcp://host:port", "file:///path". NULL: HOCKET_STORE; else rank 0 itself serves
                         at MASTER_ADDR:MASTER_PORT and the others connect there */
  int64_t timeout_ms; /* the deadline of creation and of every call that names none; 0: HOCKET_TIMEOUT_MS, else 300,000 */
  const char* name;   /* separates jobs that share a store; NULL: HOCKET_JOB, else "default". Equal on all ranks */
  const char* transport; /* "auto", "tcp", "shm"; NULL: HOCKET_TRANSPORT, else "auto" */
  const char* algorithm; /* "auto", a name that hocket-plan lists, or names by collective and size: "allreduce=linear:4K,ring"
                            (docs/guide/choosing.md); NULL: HOCKET_ALGORITHM, else "auto". Equal on all ranks */
  int32_t deterministic; /* 1: the bits of what is reduced depend on the inputs and the number of ranks alone: operands are
                            combined in rank order, ((x0 op x1) op x2) …, and float32 travels exactly, whatever a call allows. An
                            algorithm that combines otherwise: UNSUPPORTED. -1: not so; 0: HOCKET_DETERMINISTIC, else not.
                            Equal on all ranks. Costs and rules: docs/reference/determinism.md */
} hocket_comm_options;
#define HOCKET_COMM_OPTIONS_INIT { sizeof(hocket_comm_options), 0, 0, NULL, 0, NULL, NULL, NULL, 0 }

/* A reduction of the caller's own: to[i] = left[i] op right[i] for `count` elements. `to` may be `left` or `right`; all are aligned
 * for the type. It must be associative, and equal on all ranks, which Hocket cannot check. It is called on the thread that drives
 * the operation, while others may wait for that thread: it may not call Hocket. One that throws breaks the communicator (ABORTED). */
typedef void (*hocket_function)(void* to, const void* left, const void* right, size_t count, hocket_dtype dtype, void* context);

/* What one call may say beyond its arguments. A null pointer means all defaults. */
typedef struct hocket_call_options {
  size_t struct_size;
  int64_t timeout_ms; /* deadline of this call; 0: the communicator's. When it passes, the communicator breaks */
  const void* scalar; /* HOCKET_PREMULTIPLIED_SUM: one element of the call's dtype, read during the call; ranks may differ */
  hocket_function function; /* HOCKET_USER: what combines two operands, */
  void* context;            /* what it is given besides, */
  int32_t commutative;      /* and whether left op right has the same bits as right op left (not 0). Otherwise operands are
                               combined in rank order, by the algorithms that deterministic mode has. Equal on all ranks */
  hocket_wire wire;   /* equal on all ranks. Other collectives, types and operations than it is for: UNSUPPORTED */
  int32_t persistent; /* not 0: check and plan the call, but do not begin it. `work`, which must be given, is a handle that
                         hocket_work_start() starts as often as is wanted, with these arguments and buffers */
} hocket_call_options;
#define HOCKET_CALL_OPTIONS_INIT { sizeof(hocket_call_options), 0, NULL, NULL, NULL, 0, HOCKET_WIRE_EXACT, 0 }

/* Why something failed. Strings are cut to fit and end in '\0'. */
typedef struct hocket_cause {
  size_t struct_size;
  hocket_result code;
  int32_t rank;            /* the rank that first saw the failure; -1: not known */
  int32_t peer;            /* the rank at fault or not heard of; -1: none */
  uint64_t sequence;       /* sequence number of the operation in its communicator; 0: none */
  double elapsed_seconds;  /* how long the operation had run; 0: it had not started */
  char operation[64];      /* for instance "allreduce" */
  char message[1024];      /* one sentence that says what happened and what to do */
} hocket_cause;
#define HOCKET_CAUSE_INIT { sizeof(hocket_cause), HOCKET_OK, -1, -1, 0, 0.0, {0}, {0} }

/* How the data of one call travelled. Strings are cut to fit and end in '\0'. */
typedef struct hocket_call_info {
  size_t struct_size;
  uint64_t sequence;       /* number of the operation in its communicator; of a message: to or from that peer */
  char transport[32];      /* "shm", "tcp" or "loopback"; "shm+tcp" where this rank used both; "none" where it had no peer */
  char algorithm[64];      /* a name that hocket-plan lists, or, over memory that all ranks share: "direct one-shot",
                              "direct pooled", "direct mapped", "direct single copy" or "direct staged" */
  char wire[16];           /* "exact", "bfloat16" or "int8": "exact" also where less was allowed but not needed */
} hocket_call_info;
#define HOCKET_CALL_INFO_INIT { sizeof(hocket_call_info), 0, {0}, {0}, {0} }

/* What a communicator has done so far, counted as it happened on this rank. */
typedef struct hocket_counters {
  size_t struct_size;
  uint64_t operations;     /* completed */
  uint64_t steps;          /* send steps of schedules (a step counts once, however many slices it was cut into) */
  uint64_t messages_sent;
  uint64_t bytes_sent;     /* payload, without headers */
  uint64_t bytes_received;
} hocket_counters;
#define HOCKET_COUNTERS_INIT { sizeof(hocket_counters), 0, 0, 0, 0, 0 }

/* ---- version, names and errors (any thread, never fail) ------------------------------------------------------------ */

/* The library's version as "major.minor.patch". */
HOCKET_API const char* hocket_version(void);
/* A static name such as "HOCKET_TIMEOUT"; "unknown result" for a number that is none. */
HOCKET_API const char* hocket_result_name(hocket_result result);
/* Bytes of one element; 0 for a number that is no dtype. */
HOCKET_API size_t hocket_dtype_size(hocket_dtype dtype);
/* The message of the calling thread's latest failed call, "" before any. Valid until this thread's next Hocket call. */
HOCKET_API const char* hocket_last_error(void);
/* Copies the details of the calling thread's latest failed call. HOCKET_INVALID_ARGUMENT: null, or struct_size too small. */
HOCKET_API hocket_result hocket_last_cause(hocket_cause* cause);

/* How the calling thread's latest successful call was done: the latest blocking collective, send or recv, or the latest work
 * that its hocket_work_test() or hocket_work_wait() found complete (of a group: its last call). For logs and tuning; ranks may differ in `transport`.
 * Errors: INVALID_ARGUMENT (null, or struct_size too small), NOT_FOUND (no such call yet). */
HOCKET_API hocket_result hocket_last_call(hocket_call_info* info);

/* ---- communicators -------------------------------------------------------------------------------------------------- */

/* Joins the group and stores the new communicator in *comm. Collective: every rank of the group calls it; it returns when
 * this rank has reached its neighbours and knows everyone's address. `options` may be NULL (all from the environment).
 * Errors: INVALID_ARGUMENT, INVALID_ENVIRONMENT, ADDRESS_IN_USE, STORE_UNREACHABLE, RANK_TAKEN, MISMATCH (ranks disagree on
 * the size or on options), TIMEOUT (names the ranks that did not come), PEER_LOST, UNSUPPORTED, OUT_OF_RESOURCES. */
HOCKET_API hocket_result hocket_comm_create(hocket_comm** comm, const hocket_comm_options* options);

/* Creates `world_size` communicators of one group inside this process, for ranks that are threads; comms[i] is rank i.
 * They speak over memory (the loopback transport), without a store. `options` may be NULL; rank, world_size and store in
 * it are ignored. The caller destroys each. Errors: INVALID_ARGUMENT, INVALID_ENVIRONMENT, OUT_OF_RESOURCES. */
HOCKET_API hocket_result hocket_comm_create_local(hocket_comm** comms, int32_t world_size, const hocket_comm_options* options);

/* Leaves the group and frees the communicator; NULL is allowed. Pending asynchronous operations end with ABORTED, so wait
 * for them first (but see share_links below). No other thread may be inside a call on it. Work handles stay valid until released. Never waits for
 * other ranks, save that a rank 0 that serves the store stays until the others have left or one second passed. */
HOCKET_API hocket_result hocket_comm_destroy(hocket_comm* comm);

/* Breaks the communicator on all ranks: pending and later calls end with ABORTED. Returns at once, from any thread and in
 * any state; a communicator that is broken already keeps its first cause. `reason` may be NULL. Error: INVALID_ARGUMENT. */
HOCKET_API hocket_result hocket_comm_abort(hocket_comm* comm, const char* reason);

/* HOCKET_OK while the communicator works, else the code of what broke it (details: hocket_last_cause). Never blocks. */
HOCKET_API hocket_result hocket_comm_status(hocket_comm* comm);

/* Error of these three: INVALID_ARGUMENT. */
HOCKET_API hocket_result hocket_comm_rank(const hocket_comm* comm, int32_t* rank);
HOCKET_API hocket_result hocket_comm_size(const hocket_comm* comm, int32_t* world_size);
HOCKET_API hocket_result hocket_comm_counters(hocket_comm* comm, hocket_counters* counters);

/* ---- communicators made from others --------------------------------------------------------------------------------- *
 * These three are collective over the parent: all its ranks call the same one, also those that get no child. A child is a
 * communicator like any other, with ranks of its own, counted from 0, and it needs no store. No other thread may call
 * anything on the parent meanwhile. docs/guide/communicators.md.
 *
 * A child with links of its own fails without its parent and its siblings, and may be used at the same time as they and be
 * destroyed before or after them. One with share_links costs an exchange on the parent, and neither threads nor descriptors.
 * It, its parent and all others on these links are a family. Any two ranks make the calls that they both take part in in the
 * same order, whichever members of the family these are on (else: MISMATCH, or TIMEOUT); a split counts as a call on the
 * parent. What breaks one member breaks all, with one cause, whose ranks are those of the family's first communicator. What is
 * pending on a member that is destroyed goes on (keep its buffers) while another member is left.
 * A child of one rank is of no family, and has neither threads nor descriptors either way. A parent that refines its choice of
 * algorithms (HOCKET_REFINE) has no such children: UNSUPPORTED. */

#define HOCKET_NO_COLOR (-1)

typedef struct hocket_split_options {
  size_t struct_size;
  int64_t timeout_ms; /* deadline of this call, and of the child's calls that name none; 0: the parent's */
  const char* name;   /* of the child, for messages; NULL: the parent's, with kind, number and color */
  int32_t share_links; /* 1: the child runs on its parent's links; 0: on its own. Equal on all ranks (else: MISMATCH) */
} hocket_split_options;
#define HOCKET_SPLIT_OPTIONS_INIT { sizeof(hocket_split_options), 0, NULL, 0 }

/* Ranks that give the same color (0 or more) share a child, in the order of their keys, and of their ranks where keys are
 * equal. Who gives HOCKET_NO_COLOR takes part and gets *child = NULL. `options` may be NULL.
 * Errors of all three: INVALID_ARGUMENT; MISMATCH (ranks called different ones of the three; the parent goes on working);
 * OUT_OF_RESOURCES (on some rank of the child) and whatever else breaks the child before this rank has left the call (the
 * parent goes on working); and what a collective on the parent may end with. */
HOCKET_API hocket_result hocket_comm_split(hocket_comm* parent, int32_t color, int32_t key, hocket_comm** child,
                                           const hocket_split_options* options);
/* A child with the same ranks as the parent. */
HOCKET_API hocket_result hocket_comm_duplicate(hocket_comm* parent, hocket_comm** child,
                                               const hocket_split_options* options);
/* A child whose rank i is the parent's rank ranks[i], for i = 0 … count-1. All ranks of the parent give the same list (else:
 * MISMATCH); those that are not in it get *child = NULL. A rank that stands in it twice is an INVALID_ARGUMENT. */
HOCKET_API hocket_result hocket_comm_subset(hocket_comm* parent, const int32_t* ranks, int32_t count, hocket_comm** child,
                                            const hocket_split_options* options);

/* ---- creation without waiting ---------------------------------------------------------------------------------------- *
 * A communicator is created on a thread of its own while the caller does other things; other ranks may use the functions that wait.
 * Release every handle with hocket_creation_destroy(), also of a creation that has failed. */
typedef struct hocket_creation hocket_creation; /* a communicator that is being created */

/* As hocket_comm_create(), and returns at once with a handle in *creation. `options` are read during the call. What is wrong with
 * these is this call's error; everything else that can fail is told by test and wait. Errors: INVALID_ARGUMENT,
 * INVALID_ENVIRONMENT, OUT_OF_RESOURCES. */
HOCKET_API hocket_result hocket_comm_create_start(hocket_creation** creation, const hocket_comm_options* options);
/* As hocket_comm_split(). Until the creation is complete, `parent` may not be destroyed, and nothing may be called on it but
 * hocket_comm_abort(), _status, _rank, _size and _counters: a split is two calls on the parent, and their place among others must be
 * the same on all ranks. Operations that were started before go on. */
HOCKET_API hocket_result hocket_comm_split_start(hocket_comm* parent, int32_t color, int32_t key, hocket_creation** creation,
                                                 const hocket_split_options* options);
/* HOCKET_OK when the communicator is there, HOCKET_IN_PROGRESS while it is not, else why there is none. Never blocks. */
HOCKET_API hocket_result hocket_creation_test(hocket_creation* creation);
/* Waits up to timeout_ms (0: until the deadline of the creation), then returns as hocket_creation_test(). On success *comm is the
 * communicator, which is the caller's from now on (NULL where a split gives this rank none), else NULL. It is handed over once:
 * a second wait after success is an INVALID_ARGUMENT. */
HOCKET_API hocket_result hocket_creation_wait(hocket_creation* creation, int64_t timeout_ms, hocket_comm** comm);
/* Gives the handle back; NULL is allowed. A creation that is not complete is given up: the ranks that wait for this one learn of it
 * (MISMATCH before ranks have met, ABORTED afterwards), and giving up a split breaks the parent (ABORTED). A communicator that
 * nobody took is destroyed. Returns when the creation's thread has ended: in less than a second, unless a name server, a store, or a
 * rank of this host that has met this one, is alive and silent; then by the deadline at the latest. */
HOCKET_API hocket_result hocket_creation_destroy(hocket_creation* creation);

/* ---- registered memory (any thread) --------------------------------------------------------------------------------- *
 * Between ranks of one host, collectives on registered buffers need no copies. All ranks' buffers of a call must be
 * registered for that; otherwise the call works as with plain memory. Free or unregister memory only when no call uses it. */

/* Memory for at least `bytes` bytes, aligned to a page, zero at first. Give it back with hocket_mem_free().
 * Errors: INVALID_ARGUMENT (null, 0 bytes, more than can be addressed), OUT_OF_RESOURCES (names the limit), UNSUPPORTED (no memfd here). */
HOCKET_API hocket_result hocket_mem_alloc(void** memory, size_t bytes);
/* NULL is allowed. Error: INVALID_ARGUMENT for any other pointer that hocket_mem_alloc() did not return. */
HOCKET_API hocket_result hocket_mem_free(void* memory);
/* Registers `bytes` at `address`, which the caller has mapped shared and writable from `fd`. Hocket keeps a duplicate of
 * fd and seals the file against shrinking; a file that cannot be sealed (any but a memfd made with MFD_ALLOW_SEALING) is used
 * as plain memory, with a warning. Errors: INVALID_ARGUMENT (not such a mapping), OUT_OF_RESOURCES. */
HOCKET_API hocket_result hocket_register(int fd, void* address, size_t bytes);
/* `address` as given to hocket_register(). The mapping stays the caller's. Error: INVALID_ARGUMENT. */
HOCKET_API hocket_result hocket_unregister(void* address);

/* ---- collectives ---------------------------------------------------------------------------------------------------- *
 * The last two arguments of each: `options` (may be NULL) and `work`. With work == NULL the call blocks until this rank's
 * part is done. Otherwise it starts the operation, stores a handle in *work and returns; release the handle when done.
 * In place means what it means in NCCL; each function says which pointers must then be equal. Any other overlap of the two
 * buffers is an INVALID_ARGUMENT. A buffer of zero elements may be NULL. count == 0 moves nothing and succeeds.
 * Errors of all: INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_RESOURCES, PEER_LOST, TIMEOUT, ABORTED, MISMATCH, PROTOCOL_ERROR. */

/* recv[i] = op over all ranks of send[i]; both hold `count` elements. In place: send == recv. */
HOCKET_API hocket_result hocket_allreduce(const void* send, void* recv, size_t count, hocket_dtype dtype, hocket_op op,
                                          hocket_comm* comm, const hocket_call_options* options, hocket_work** work);

/* As allreduce, but only `root` receives; recv is ignored elsewhere. In place at the root: send == recv. */
HOCKET_API hocket_result hocket_reduce(const void* send, void* recv, size_t count, hocket_dtype dtype, hocket_op op,
                                       int32_t root, hocket_comm* comm, const hocket_call_options* options,
                                       hocket_work** work);

/* Rank r gets block r of the reduction: send holds world_size blocks of recvcount elements, recv one.
 * In place: recv == send + rank * recvcount. */
HOCKET_API hocket_result hocket_reduce_scatter(const void* send, void* recv, size_t recvcount, hocket_dtype dtype,
                                               hocket_op op, hocket_comm* comm, const hocket_call_options* options,
                                               hocket_work** work);

/* Block r of recv = rank r's send: send holds sendcount elements, recv world_size blocks of sendcount.
 * In place: send == recv + rank * sendcount. */
HOCKET_API hocket_result hocket_allgather(const void* send, void* recv, size_t sendcount, hocket_dtype dtype,
                                          hocket_comm* comm, const hocket_call_options* options, hocket_work** work);

/* Every rank's recv = the root's send; both hold `count` elements; send is ignored elsewhere. In place: send == recv. */
HOCKET_API hocket_result hocket_broadcast(const void* send, void* recv, size_t count, hocket_dtype dtype, int32_t root,
                                          hocket_comm* comm, const hocket_call_options* options, hocket_work** work);

/* Rank r's recv = block r of the root's send, which holds world_size blocks of recvcount; send is ignored elsewhere.
 * In place at the root: recv == send + root * recvcount. */
HOCKET_API hocket_result hocket_scatter(const void* send, void* recv, size_t recvcount, hocket_dtype dtype, int32_t root,
                                        hocket_comm* comm, const hocket_call_options* options, hocket_work** work);

/* Block r of the root's recv = rank r's send, sendcount elements each; recv is ignored elsewhere.
 * In place at the root: send == recv + root * sendcount. */
HOCKET_API hocket_result hocket_gather(const void* send, void* recv, size_t sendcount, hocket_dtype dtype, int32_t root,
                                       hocket_comm* comm, const hocket_call_options* options, hocket_work** work);

/* Block j of rank i's send becomes block i of rank j's recv; both hold world_size blocks of `count` elements.
 * In place: send == recv; the library then copies the input first. */
HOCKET_API hocket_result hocket_alltoall(const void* send, void* recv, size_t count, hocket_dtype dtype, hocket_comm* comm,
                                         const hocket_call_options* options, hocket_work** work);

/* Rank r's recv = op over the sends of the ranks 0 … r, of `count` elements, combined in rank order: op need not be
 * commutative. HOCKET_AVG has no meaning here (INVALID_ARGUMENT). In place: send == recv. docs/reference/collectives.md. */
HOCKET_API hocket_result hocket_scan(const void* send, void* recv, size_t count, hocket_dtype dtype, hocket_op op,
                                     hocket_comm* comm, const hocket_call_options* options, hocket_work** work);
/* As scan, but over the ranks before this one: 0 … r-1. On rank 0 recv is ignored: what it points to stays as it is. */
HOCKET_API hocket_result hocket_exscan(const void* send, void* recv, size_t count, hocket_dtype dtype, hocket_op op,
                                       hocket_comm* comm, const hocket_call_options* options, hocket_work** work);

/* Returns (or completes) on no rank before every rank has called it. */
HOCKET_API hocket_result hocket_barrier(hocket_comm* comm, const hocket_call_options* options, hocket_work** work);

/* ---- collectives with blocks of unequal size -------------------------------------------------------------------------- *
 * As their like above, with a size for each block. Counts, and displacements from the start of the buffer, are in elements,
 * one of each for every rank, and read during the call only. Displacements may be NULL: one block behind the other. They may
 * leave gaps, which stay as they are, and need not ascend; blocks of recv may not overlap. Counts may be 0, and a buffer
 * without elements NULL. In place, this rank's block lies at the same address in both buffers; nothing else may overlap.
 * Over shared memory too they take links, not direct paths. Errors: as above; INVALID_ARGUMENT also for counts that add up
 * to more than fits in memory. docs/reference/unequal-blocks.md. */

/* Block r of recv, recvcounts[r] elements at displacements[r], = rank r's send. recvcounts are equal on all ranks (else:
 * MISMATCH), displacements may differ; sendcount == recvcounts[rank]. In place: send == recv + displacements[rank]. */
HOCKET_API hocket_result hocket_allgather_v(const void* send, size_t sendcount, void* recv, const size_t* recvcounts,
                                            const size_t* displacements, hocket_dtype dtype, hocket_comm* comm,
                                            const hocket_call_options* options, hocket_work** work);

/* Rank r gets block r of the reduction, recvcounts[r] elements: send holds all blocks, one behind the other. recvcounts are
 * equal on all ranks (else: MISMATCH). In place: recv == send + the counts before this rank's. */
HOCKET_API hocket_result hocket_reduce_scatter_v(const void* send, void* recv, const size_t* recvcounts,
                                                 hocket_dtype dtype, hocket_op op, hocket_comm* comm,
                                                 const hocket_call_options* options, hocket_work** work);

/* Rank r's recv, recvcount elements, = block r of the root's send, sendcounts[r] elements at displacements[r]; send and
 * the lists are ignored elsewhere. A recvcount that is not the root's sendcounts[r]: MISMATCH. In place at the root: recv ==
 * send + displacements[root]. */
HOCKET_API hocket_result hocket_scatter_v(const void* send, const size_t* sendcounts, const size_t* displacements,
                                          void* recv, size_t recvcount, hocket_dtype dtype, int32_t root,
                                          hocket_comm* comm, const hocket_call_options* options, hocket_work** work);

/* Block r of the root's recv, recvcounts[r] elements at displacements[r], = rank r's send, sendcount elements; recv and the
 * lists are ignored elsewhere. A sendcount that is not the root's recvcounts[r]: MISMATCH. In place at the root: send ==
 * recv + displacements[root]. */
HOCKET_API hocket_result hocket_gather_v(const void* send, size_t sendcount, void* recv, const size_t* recvcounts,
                                         const size_t* displacements, hocket_dtype dtype, int32_t root,
                                         hocket_comm* comm, const hocket_call_options* options, hocket_work** work);

/* Block j of rank i's send, sendcounts[j] elements at senddispls[j], becomes block i of rank j's recv, recvcounts[i]
 * elements at recvdispls[i]. What rank i sends to j must be what j receives from i, else: MISMATCH. In place: send == recv,
 * with equal counts and displacements for both; the library then copies the input first. */
HOCKET_API hocket_result hocket_alltoall_v(const void* send, const size_t* sendcounts, const size_t* senddispls,
                                           void* recv, const size_t* recvcounts, const size_t* recvdispls,
                                           hocket_dtype dtype, hocket_comm* comm, const hocket_call_options* options,
                                           hocket_work** work);

/* ---- point to point ------------------------------------------------------------------------------------------------- *
 * Messages between two ranks arrive in the order in which they were sent, and match receives of equal count and dtype in
 * the order in which those were called; a differing count or dtype is a MISMATCH. One of 0 elements is a message, too. A send may return before its receive is
 * called. Sends and receives in different directions, or with different peers, do not wait for each other when they are
 * asynchronous. They and collectives keep the order of the calls: a collective called after a pending receive may wait for it,
 * so do not call a collective before the matching send. peer == own rank is an INVALID_ARGUMENT outside groups. docs/guide/groups-and-messages.md
 * has the rules in full. Errors: as collectives. */
HOCKET_API hocket_result hocket_send(const void* send, size_t count, hocket_dtype dtype, int32_t peer, hocket_comm* comm,
                                     const hocket_call_options* options, hocket_work** work);
HOCKET_API hocket_result hocket_recv(void* recv, size_t count, hocket_dtype dtype, int32_t peer, hocket_comm* comm,
                                     const hocket_call_options* options, hocket_work** work);
/* As hocket_recv, from whichever other rank has sent: *source is that rank when the call is complete, and means nothing before or
 * after a failure. It is kept as long as `recv` is; NULL: not wanted. Receives take messages in the order of their calls: a later
 * one, from a named rank too, waits until this one has found its message. Ranks whose messages wait take turns. That a rank
 * has left is an error (PEER_LOST) only if no other is left. In a group it may take what this rank sends to itself; on a
 * communicator of one rank that is all there is (outside groups: INVALID_ARGUMENT). docs/guide/groups-and-messages.md. */
HOCKET_API hocket_result hocket_recv_any(void* recv, size_t count, hocket_dtype dtype, int32_t* source, hocket_comm* comm,
                                         const hocket_call_options* options, hocket_work** work);

/* Sends to `to` and receives from `from` at the same time: a hocket_send and a hocket_recv that start together, and match those of
 * other ranks. So all ranks may call it with any peers, in a circle too. to == from and both == own rank (a copy; the counts must
 * be equal) are allowed; only one of them == own rank is an INVALID_ARGUMENT, and so are buffers that overlap. */
HOCKET_API hocket_result hocket_sendrecv(const void* send, size_t sendcount, int32_t to, void* recv, size_t recvcount,
                                         int32_t from, hocket_dtype dtype, hocket_comm* comm,
                                         const hocket_call_options* options, hocket_work** work);

/* ---- groups --------------------------------------------------------------------------------------------------------- *
 * Between hocket_group_start() and hocket_group_end() collectives, sends, receives and sendrecvs of this thread, on one communicator
 * or on several, are checked and kept; hocket_group_end() starts them together. They wait for nothing but their own peers' parts, so
 * each rank may call them in an order of its own, as long as these keep theirs: messages of one direction between two ranks, and
 * collectives of one communicator. On each communicator collectives take their turn before messages, wherever in the
 * group they were called: a rank that does not group them calls the collectives first. A message from a rank to itself is a
 * copy; its k-th send and its k-th receive of the group belong together and must be of equal count and dtype.
 *
 * Buffers stay as they are from the call until the group is complete, and no two calls of a group write where another reads or
 * writes. `work` must be NULL in calls inside a group. Groups nest: only the outermost end starts anything. What is open belongs
 * to the thread, not to a communicator; all other functions do what they do outside. docs/guide/groups-and-messages.md has examples.
 *
 * Errors. A call that fails returns its error and makes the whole group fail: the outermost end returns the first such error,
 * and nothing of the group is started on this rank. Failures of communication are those of the operations. */
HOCKET_API hocket_result hocket_group_start(void);
/* With work == NULL it returns when all calls of the group are done, with the first failure. Otherwise *work is one handle for all
 * of them; of an inner end it is NULL, and the result HOCKET_OK. Errors: those of the calls, and INVALID_ARGUMENT (no open group,
 * or a message to itself without its other half; nothing is started). */
HOCKET_API hocket_result hocket_group_end(hocket_work** work);
/* Instead of an end, when the caller gives up: nothing of the group will start. The outermost end, if this was not it, returns
 * ABORTED. Error: INVALID_ARGUMENT (no open group). */
HOCKET_API hocket_result hocket_group_cancel(void);

/* ---- work handles (any thread) -------------------------------------------------------------------------------------- */

/* HOCKET_OK when complete, HOCKET_IN_PROGRESS when not yet, else the operation's error. Never blocks. */
HOCKET_API hocket_result hocket_work_test(hocket_work* work);
/* Waits up to timeout_ms (0: until the operation's own deadline). The waiting thread drives the operation. Returns as
 * hocket_work_test; HOCKET_IN_PROGRESS when the time passed: the operation goes on and may be waited for again. */
HOCKET_API hocket_result hocket_work_wait(hocket_work* work, int64_t timeout_ms);
/* Has `function` called once, when the operation is complete (of a group: when all are): on the thread that drives it then, the
 * library's own or one that is in a call on the communicator, and without locks; or before this returns, if it is complete already.
 * `result` is what hocket_work_test() says, also when the communicator broke or was destroyed. The function may do all that does not
 * wait: start calls, ask for further functions, test and release works, abort. What waits (blocking calls, hocket_work_wait() on
 * what is not complete, creating and destroying communicators) is an INVALID_ARGUMENT there. It holds up all else on its
 * communicator, so it should be short. Releasing `work` does not take it back. docs/guide/works.md.
 * Errors: INVALID_ARGUMENT (null; a function is to be called already: one at a time), OUT_OF_RESOURCES. */
typedef void (*hocket_callback)(hocket_result result, void* context);
HOCKET_API hocket_result hocket_work_on_complete(hocket_work* work, hocket_callback function, void* context);
/* Of a call with options->persistent, which is complete until it is started: begins another run, as if the call were made now, so
 * all ranks start theirs at the same place among their calls; ranks need not agree on which are persistent. What the buffers hold is
 * read anew, the deadline counts from here. One thread at a time. In a group it begins at once, too. Errors: INVALID_ARGUMENT (null,
 * not persistent, a run is going on, the communicator was destroyed), and what broke the communicator. */
HOCKET_API hocket_result hocket_work_start(hocket_work* work);
/* The same, and waits until the run is complete, as a blocking call does: cheaper than starting and waiting. Errors: as both. */
HOCKET_API hocket_result hocket_work_run(hocket_work* work);
/* Gives the handle back; NULL is allowed. An operation that is not complete goes on, and still uses its buffers. */
HOCKET_API hocket_result hocket_work_release(hocket_work* work);

#ifdef __cplusplus
}
#endif

#include "hocket/lists.h" /* collectives on lists of tensors */

#endif
