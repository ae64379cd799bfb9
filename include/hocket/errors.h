/* clang-format off */ /* laid out by hand, as a page to read */
/** @file
 *  Why the latest call of this thread failed. */
#ifndef HOCKET_ERRORS_H
#define HOCKET_ERRORS_H

#include <stddef.h>
#include <stdint.h>

#include "hocket/api.h"
#include "hocket/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @defgroup errors Errors
 *  A call that fails returns a code; the functions here describe the failure of the latest call on the calling thread.
 *  docs/guide/errors-and-troubleshooting.md lists every code with what to do.
 *  @{ */

/** Why something failed. Strings are cut to fit and end in '\0'. */
typedef struct hocket_cause {
  size_t struct_size;     /**< sizeof(hocket_cause), set by #HOCKET_CAUSE_INIT. */
  hocket_result code;     /**< What the call returned. */
  int32_t rank;           /**< The rank that saw the failure first; -1: not known. */
  int32_t peer;           /**< The rank that is at fault, or that was not heard of; -1: none. */
  uint64_t sequence;      /**< The number of the operation in its communicator, from 1 on; 0: none. */
  double elapsed_seconds; /**< How long the operation had run; 0: it had not started. */
  char operation[64];     /**< For instance "allreduce". */
  char message[1024];     /**< One sentence that says what happened and what to do. */
} hocket_cause;

/** An empty hocket_cause. */
#define HOCKET_CAUSE_INIT { sizeof(hocket_cause), HOCKET_OK, -1, -1, 0, 0.0, {0}, {0} }

/** The message of the calling thread's latest failed call; "" if none has failed. The string belongs to the library and is
 *  valid until this thread's next Hocket call. Never fails. */
HOCKET_API const char* hocket_last_error(void);

/** Copies the details of the calling thread's latest failed call to *cause, which the caller has initialised with
 *  #HOCKET_CAUSE_INIT.
 *  Errors: INVALID_ARGUMENT (null, or struct_size is too small). */
HOCKET_API hocket_result hocket_last_cause(hocket_cause* cause);

/** @} */

#ifdef __cplusplus
}
#endif

#endif
