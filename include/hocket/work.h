/* clang-format off */ /* laid out by hand, as a page to read */
/** @file
 *  Handles on asynchronous and persistent calls. */
#ifndef HOCKET_WORK_H
#define HOCKET_WORK_H

#include <stddef.h>
#include <stdint.h>

#include "hocket/api.h"
#include "hocket/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @defgroup works Works
 *  A call with a `work` argument that is not NULL stores a handle there and returns without waiting. Operations progress
 *  without anybody waiting for them, and may be waited for in any order. All functions here may be called from any thread.
 *  docs/guide/works.md.
 *  @{ */

/** A handle on one asynchronous or persistent operation, or on all operations of a group. */
typedef struct hocket_work hocket_work;

/** HOCKET_OK when the operation is complete, HOCKET_IN_PROGRESS while it is not, otherwise its error. Never blocks. */
HOCKET_API hocket_result hocket_work_test(hocket_work* work);

/** Waits up to `timeout_ms` milliseconds (0: until the operation's own deadline), then returns what hocket_work_test()
 *  returns. The waiting thread makes the operation progress. After HOCKET_IN_PROGRESS the operation continues and may be
 *  waited for again. */
HOCKET_API hocket_result hocket_work_wait(hocket_work* work, int64_t timeout_ms);

/** Waits up to `timeout_ms` milliseconds (0: without end of its own) until one of the works is complete; stores the lowest
 *  index of those that are in *index, and returns what hocket_work_test() returns for that work. `works` may have null
 *  entries, which are passed over, works of any communicators, and works that other threads wait for. Where the time is over
 *  (HOCKET_IN_PROGRESS), and where all entries are null (HOCKET_OK), *index is `count`.
 *
 *  Complete works stay complete: set their entries to NULL, or start them again, before the next call. Every operation has a
 *  deadline, so some work is complete then at the latest.
 *
 *  Errors: INVALID_ARGUMENT (works or index is null, timeout_ms is negative, or called inside a completion function while
 *  none is complete), and what the complete work ended with. */
HOCKET_API hocket_result hocket_work_wait_any(size_t count, hocket_work* const* works, int64_t timeout_ms, size_t* index);

/** What hocket_work_on_complete() calls: `result` is what hocket_work_test() returns, `context` is the caller's. */
typedef void (*hocket_callback)(hocket_result result, void* context);

/** Registers a function that is called once, when the operation is complete (for a group: when all operations are), whether
 *  it succeeded or failed. If it is complete already, the function is called before this call returns.
 *
 *  The function runs without locks on the thread that makes progress at that time: the library's own, or one that is in a
 *  call on the communicator. It may do anything that does not wait: start calls, register further functions, test and
 *  release works, abort. Blocking calls, hocket_work_wait() and hocket_work_finish() on an incomplete work, and creating or
 *  destroying communicators are an INVALID_ARGUMENT there. Everything else on the communicator waits for the function, so
 *  keep it short.
 *
 *  Only one function may be registered at a time; another one may follow when it has been called. Releasing `work` does not
 *  withdraw it.
 *
 *  Errors: INVALID_ARGUMENT (null, or a function is registered already), OUT_OF_RESOURCES. */
HOCKET_API hocket_result hocket_work_on_complete(hocket_work* work, hocket_callback function, void* context);

/** Starts another run of a call that was made with options->persistent. Such a work is complete until it is started.
 *
 *  A run counts as a call that is made now, so all ranks start theirs at the same place among their calls; ranks need not
 *  agree on which calls are persistent. The contents of the buffers are read anew, and the deadline counts from here. Only
 *  one thread at a time may start a work. Inside a group the run starts at once, without waiting for the group's end.
 *
 *  Errors: INVALID_ARGUMENT (null, not persistent, the last run is not complete, or the communicator was destroyed),
 *  UNSUPPORTED (data on a GPU, and the call's stream is being captured), and what broke the communicator. */
HOCKET_API hocket_result hocket_work_start(hocket_work* work);

/** Starts another run and waits until it is complete. This is cheaper than hocket_work_start() and hocket_work_wait().
 *  Errors: those of both. */
HOCKET_API hocket_result hocket_work_run(hocket_work* work);

/** Releases the handle. NULL is allowed. An incomplete operation continues, and still uses its buffers. */
HOCKET_API hocket_result hocket_work_release(hocket_work* work);

/** Waits until the operation is complete, releases the handle, and returns what the operation ended with. This is cheaper
 *  than hocket_work_wait() and hocket_work_release(). NULL is allowed: HOCKET_OK.
 *
 *  Errors: what the operation ended with, and INVALID_ARGUMENT inside a completion function while the operation is not
 *  complete: then it is not waited for, its handle is released, and it continues and still uses its buffers. */
HOCKET_API hocket_result hocket_work_finish(hocket_work* work);

/** @} */

#ifdef __cplusplus
}
#endif

#endif
