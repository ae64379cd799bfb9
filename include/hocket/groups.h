/* clang-format off */ /* laid out by hand, as a page to read */
/** @file
 *  Groups of calls that start together. */
#ifndef HOCKET_GROUPS_H
#define HOCKET_GROUPS_H

#include "hocket/api.h"
#include "hocket/types.h"
#include "hocket/work.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @defgroup groups Groups of calls
 *  Between hocket_group_start() and hocket_group_end(), collectives and messages of this thread, on one communicator or on
 *  several, are checked and kept; hocket_group_end() starts them together. docs/guide/groups-and-messages.md has examples.
 *
 *  - Calls of a group do not wait for each other. Each rank may make them in its own order, as long as it keeps the order of
 *    the messages from one rank to another, and that of the collectives on each communicator.
 *  - On each communicator collectives take their turn before messages, wherever they were called in the group. A rank that
 *    makes the same calls without a group makes the collectives first.
 *  - The k-th send of a group to the rank itself and the k-th receive from it belong together: a copy, of equal count and dtype.
 *  - `work` is NULL in calls inside a group. Buffers stay unchanged from the call until the group is complete, and no call
 *    of a group writes where another one reads or writes.
 *  - Groups nest, and only the outermost end starts anything. An open group belongs to the thread, not to a communicator; all
 *    other functions behave as they do outside.
 *  - A call that fails returns its error and makes the whole group fail: the outermost end returns the first such error, and
 *    nothing of the group is started on this rank.
 *  @{ */

/** Opens a group on this thread. Never fails. */
HOCKET_API hocket_result hocket_group_start(void);

/** Closes a group; the outermost end starts its calls.
 *
 *  With `work` == NULL it returns when all calls of the group are complete, with the first failure. Otherwise *work is one
 *  handle for all of them. An inner end stores NULL and returns HOCKET_OK.
 *
 *  Errors: those of the calls, and INVALID_ARGUMENT (no open group, or a message to itself without its counterpart;
 *  nothing is started). */
HOCKET_API hocket_result hocket_group_end(hocket_work** work);

/** Closes a group without starting it, if the caller gives up. If this was an inner group, the outermost end returns
 *  ABORTED. Errors: INVALID_ARGUMENT (no open group). */
HOCKET_API hocket_result hocket_group_cancel(void);

/** @} */

#ifdef __cplusplus
}
#endif

#endif
