/* clang-format off */ /* laid out by hand, as a page to read */
/** @file
 *  What every collective and message takes beyond its own arguments, and how the latest one was carried out. */
#ifndef HOCKET_CALL_H
#define HOCKET_CALL_H

#include <stddef.h>
#include <stdint.h>

#include "hocket/api.h"
#include "hocket/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @defgroup calls Options of a call
 *  @{ */

/** A reduction of the caller's own, for #HOCKET_USER: to[i] = left[i] op right[i] for `count` elements of type `dtype`.
 *
 *  `to` may be `left` or `right`; all three are aligned for the type, #HOCKET_OPAQUE elements to the largest power of
 *  two that divides their size, but at most to 16 bytes. Only whole elements are passed, at least one; how many bytes an
 *  opaque one has the function knows, or finds in its context. `context` is options->context. The operation must be
 *  associative and the same on all ranks, which Hocket cannot check. The function runs on the thread that makes
 *  progress, and other threads may wait for that thread, so it must not call Hocket. A C++ exception that leaves it
 *  breaks the communicator (ABORTED). */
typedef void (*hocket_function)(void* to, const void* left, const void* right, size_t count, hocket_dtype dtype,
                                void* context);

/** Options of one call. A null pointer means all defaults. */
typedef struct hocket_call_options {
  size_t struct_size;       /**< sizeof(hocket_call_options), set by #HOCKET_CALL_OPTIONS_INIT. */
  int64_t timeout_ms;       /**< The deadline of this call in milliseconds; when it passes, the communicator breaks.
                                 0: the communicator's deadline. All beyond a year is a year. */
  const void* scalar;       /**< For #HOCKET_PREMULTIPLIED_SUM: one element of the call's dtype in host memory, read
                                 during the call. Ranks may give different ones. */
  hocket_function function; /**< For #HOCKET_USER: the function that combines two operands. */
  void* context;            /**< Passed to `function` unchanged. */
  int32_t commutative;      /**< Not 0: left op right has the same bits as right op left. 0: operands are combined in rank
                                 order, by the algorithms of deterministic mode. Equal on all ranks. */
  hocket_wire wire;         /**< How float32 may travel; equal on all ranks. A collective, type or operation that the
                                 format is not for is UNSUPPORTED. */
  int32_t persistent;       /**< Not 0: the call is checked and planned, but not started. It needs `work`, which then
                                 starts it as often as wanted (hocket_work_start(), hocket_work_run()), each time with
                                 these arguments and buffers. */
  size_t element_bytes;     /**< For #HOCKET_OPAQUE: the bytes of one element, 1 … #HOCKET_ELEMENT_BYTES_MAX. Equal on all
                                 ranks (else: MISMATCH). Other types ignore it. */
  void* stream;             /**< For data in memory of a GPU: the CUstream or cudaStream_t that orders it; null: the default
                                 stream. What the caller put into it before the call comes before the call. What is put
                                 into it once the call is complete finds the result: once a blocking call has returned,
                                 the work is complete, or its completion function is called. The device may still be at
                                 work then. Of a persistent call, each start counts as the call. A stream that is being
                                 captured is UNSUPPORTED. Ignored where all data is host memory, as pinned and managed
                                 memory are. */
} hocket_call_options;

/** The defaults. */
#define HOCKET_CALL_OPTIONS_INIT { sizeof(hocket_call_options), 0, NULL, NULL, NULL, 0, HOCKET_WIRE_EXACT, 0, 0, NULL }

/** How one call was carried out. Strings are cut to fit and end in '\0'. */
typedef struct hocket_call_info {
  size_t struct_size;  /**< sizeof(hocket_call_info), set by #HOCKET_CALL_INFO_INIT. */
  uint64_t sequence;   /**< The number of the operation in its communicator, from 1 on; of a message, to or from that peer. */
  char transport[32];  /**< Its name, as "tcp"; "shm+tcp" if this rank used both; "none" if it had no peer. */
  char algorithm[64];  /**< A name that hocket-plan lists or, for ranks that all share memory, "direct one-shot", "direct
                            pooled", "direct mapped", "direct single copy", "direct staged" or "direct GPU". */
  char wire[16];       /**< "exact", "bfloat16" or "int8". "exact" also if less was permitted but not used. */
} hocket_call_info;

/** An empty hocket_call_info. */
#define HOCKET_CALL_INFO_INIT { sizeof(hocket_call_info), 0, {0}, {0}, {0} }

/** Copies how the calling thread's latest successful call was carried out to *info, which the caller has initialised with
 *  #HOCKET_CALL_INFO_INIT. For logs and tuning.
 *
 *  The latest call is the latest blocking collective, send or receive, or the latest work that this thread's
 *  hocket_work_test() or hocket_work_wait() found complete, or its hocket_work_run() ran (for a group, its last call).
 *  Ranks may differ in `transport`.
 *
 *  Errors: INVALID_ARGUMENT (null, or struct_size is too small), NOT_FOUND (no such call yet). */
HOCKET_API hocket_result hocket_last_call(hocket_call_info* info);

/** @} */

#ifdef __cplusplus
}
#endif

#endif
