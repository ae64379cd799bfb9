/* clang-format off */ /* laid out by hand, as a page to read */
/** @file
 *  Agreeing, although ranks die. */
#ifndef HOCKET_AGREE_H
#define HOCKET_AGREE_H

#include <stddef.h>
#include <stdint.h>

#include "hocket/api.h"
#include "hocket/comm.h"
#include "hocket/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @defgroup agree Agreeing although ranks die
 *  A collective that fails may have failed on some ranks and succeeded on others. An agreement tells all ranks that are left
 *  the same: whether all of them are content, and who is dead. docs/guide/recovery.md.
 *  @{ */

/** How to agree. */
typedef struct hocket_agree_options {
  size_t struct_size; /**< sizeof(hocket_agree_options), set by #HOCKET_AGREE_OPTIONS_INIT. */
  int64_t timeout_ms; /**< The deadline of this call in milliseconds. 0: that of the communicator. */
} hocket_agree_options;

/** Options that follow the communicator. */
#define HOCKET_AGREE_OPTIONS_INIT { sizeof(hocket_agree_options), 0 }

/** Agrees with the other ranks of `comm` on a flag and on which ranks are dead.
 *
 *  Every rank that is left calls it, with bits of its own in *flag. On success *flag is the bitwise AND of the flags of all
 *  ranks but the dead; *dead_count is the number of these, and dead[0], dead[1] … are their ranks in ascending order. All ranks
 *  that return HOCKET_OK return the same, also those that die just after, whoever dies meanwhile. `dead` has room for as many
 *  ranks as `comm` has, or is NULL; then dead_count may be NULL, too. `options` may be NULL.
 *
 *  `comm` may work or be broken, also by the loss of the store, and stays as it is. A rank is dead if its process has ended,
 *  or if it has destroyed `comm` in good order; on another host, where its process is out of sight, if a connection to it has
 *  ended and nobody listens at its port. One that dies after it has voted may be missing in `dead`: then its flag is in the AND. A rank that is only stopped
 *  or out of reach is not dead: the others wait for it until their deadlines (docs/guide/recovery.md says what to do then).
 *
 *  After a failure *flag and `dead` are unchanged, and a call that is made again takes part in the same agreement: it waits for
 *  those that were missing, or learns what the others have agreed on meanwhile, for which the flag of the first attempt may
 *  have counted. Where some ranks succeed and some get TIMEOUT, these learn it so.
 *
 *  No other thread may agree on or shrink `comm`, or a communicator that it was shrunk from or to, at the same time, nor destroy
 *  `comm`; all other calls may go on. A call may leave a thread behind for those that have not heard of the outcome yet; it
 *  ends by itself when they have, at the deadline, or with the next such call or hocket_comm_destroy(). Last words may take up
 *  to 200 ms: a call that fails returns so much after its deadline, and whoever ends that thread waits so long for it.
 *
 *  Errors: INVALID_ARGUMENT (null, a negative time, or another call agrees or shrinks); UNSUPPORTED (`comm` shares the links
 *  of its parent, or is one of threads; one rank alone may agree); TIMEOUT (the cause names a rank that did
 *  not take part); MISMATCH (another rank is in hocket_comm_shrink() on `comm`, or uses what it was shrunk to); EXCLUDED (the others
 *  take this rank for dead); OUT_OF_RESOURCES (this rank leaves: the others see
 *  it as one that has destroyed `comm`, and it can neither agree on it nor shrink it any more). None of them breaks `comm`. */
HOCKET_API hocket_result hocket_comm_agree(hocket_comm* comm, uint64_t* flag, int32_t* dead, int32_t* dead_count,
                                           const hocket_agree_options* options);

/** An agreement in the background. Release it with hocket_agreement_destroy(), even if it failed. */
typedef struct hocket_agreement hocket_agreement;

/** Starts what hocket_comm_agree() does on a thread of its own, stores a handle in *agreement and returns at once. Some ranks
 *  may use this and others hocket_comm_agree(). `comm` may not be destroyed until the agreement is complete.
 *
 *  Errors: INVALID_ARGUMENT, OUT_OF_RESOURCES. Every other failure is reported by test and wait. */
HOCKET_API hocket_result hocket_comm_agree_start(hocket_comm* comm, uint64_t flag, hocket_agreement** agreement,
                                                 const hocket_agree_options* options);

/** HOCKET_OK when the ranks have agreed, HOCKET_IN_PROGRESS while they have not, otherwise why they do not. Never blocks. */
HOCKET_API hocket_result hocket_agreement_test(hocket_agreement* agreement);

/** Waits up to `timeout_ms` milliseconds (0: until the deadline of the agreement), then returns what hocket_agreement_test()
 *  returns. On success it stores what hocket_comm_agree() stores; it may be called again. */
HOCKET_API hocket_result hocket_agreement_wait(hocket_agreement* agreement, int64_t timeout_ms, uint64_t* flag,
                                               int32_t* dead, int32_t* dead_count);

/** Releases the handle. NULL is allowed. An agreement that is not complete is given up on this rank, in 50 milliseconds: the
 *  others wait for it until their deadlines, and a later call of this rank takes part again. */
HOCKET_API hocket_result hocket_agreement_destroy(hocket_agreement* agreement);

/** @} */

#ifdef __cplusplus
}
#endif

#endif
