/* clang-format off */ /* laid out by hand, as a page to read */
/** @file
 *  A rendezvous store of the caller's. */
#ifndef HOCKET_STORE_H
#define HOCKET_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "hocket/api.h"
#include "hocket/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @defgroup caller_store A store of the caller's
 *  Ranks meet in a store: a small dictionary that all of them see. A program that has one already (a framework's, a cluster's)
 *  gives Hocket four functions on it in hocket_comm_options.store_callbacks, and needs no second one.
 *  docs/guide/launching.md.
 *
 *  - **Keys and values** are strings of bytes: keys 1 … 1,024, values at most 1 MiB. Hocket's own keys are printable, begin
 *    with the job's name, and are few: two for each rank, and a few for the job. Two or three of these stay after creation.
 *  - **Waiting.** No function waits for a key; Hocket asks again, every 20 ms at the slowest. Each gives up after `timeout_ms`
 *    milliseconds, at least 1, and then returns HOCKET_TIMEOUT.
 *  - **Threads.** They are called one at a time for each creation: on the thread that is inside hocket_comm_create(), or on
 *    the thread of hocket_comm_create_start() until its creation is complete or destroyed. They may not call Hocket.
 *  - **Errors.** HOCKET_STORE_UNREACHABLE if the store does not answer; any other code but OK, IN_PROGRESS and NOT_FOUND is
 *    passed on as the error of the creation. A C++ exception must not leave them.
 *  @{ */

/** A string of bytes. It belongs to whoever passes it, and is valid during the call it is passed to. */
typedef struct hocket_bytes {
  const void* data; /**< May be NULL if size is 0. */
  size_t size;      /**< Bytes. */
} hocket_bytes;

/** How a function of the store hands over what it found: it calls this with the `receiver` that it was given. */
typedef void (*hocket_bytes_receiver)(void* receiver, hocket_bytes found);

/** The functions of a store. They see changes in the order in which these were made, and each change is atomic. */
typedef struct hocket_store_callbacks {
  size_t struct_size; /**< sizeof(hocket_store_callbacks), set by #HOCKET_STORE_CALLBACKS_INIT. */
  void* context;      /**< Passed to every function unchanged. The caller keeps what it points to until the creation is
                           complete or destroyed. */
  /** Sets the key, whether it was there or not. */
  hocket_result (*set)(void* context, hocket_bytes key, hocket_bytes value, int64_t timeout_ms);
  /** Passes the value to `receive`, or returns HOCKET_NOT_FOUND if the key is absent. */
  hocket_result (*get)(void* context, hocket_bytes key, int64_t timeout_ms, hocket_bytes_receiver receive,
                       void* receiver);
  /** If the value is *expected (NULL: the key is absent), sets it to `desired`. Passes the value that it found before to
   *  `receive`; if the key was absent, it returns HOCKET_OK without doing so. */
  hocket_result (*compare_and_set)(void* context, hocket_bytes key, const hocket_bytes* expected, hocket_bytes desired,
                                   int64_t timeout_ms, hocket_bytes_receiver receive, void* receiver);
  /** Removes the key; HOCKET_NOT_FOUND if it is absent. */
  hocket_result (*remove)(void* context, hocket_bytes key, int64_t timeout_ms);
  /** Passes every key that begins with `prefix` to `receive`, in any order. NULL if the store cannot list its keys. */
  hocket_result (*list)(void* context, hocket_bytes prefix, int64_t timeout_ms, hocket_bytes_receiver receive,
                        void* receiver);
} hocket_store_callbacks;

/** No functions yet. */
#define HOCKET_STORE_CALLBACKS_INIT { sizeof(hocket_store_callbacks), NULL, NULL, NULL, NULL, NULL, NULL }

/** @} */

#ifdef __cplusplus
}
#endif

#endif
