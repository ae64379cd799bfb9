/* clang-format off */ /* laid out by hand, as a page to read */
/** @file
 *  Messages between two ranks. */
#ifndef HOCKET_MESSAGES_H
#define HOCKET_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

#include "hocket/api.h"
#include "hocket/call.h"
#include "hocket/comm.h"
#include "hocket/types.h"
#include "hocket/work.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @defgroup messages Messages
 *  `options` and `work` are those of the collectives, and so are the errors.
 *
 *  - There are no tags. Messages from one rank to another arrive in the order in which they were sent, and match receives in
 *    the order in which those were called. A receive with a different count or dtype is a MISMATCH.
 *  - A message of 0 elements is a message.
 *  - A send may return before its receive is called, but do not rely on that.
 *  - Asynchronous messages in different directions, or with different peers, do not wait for each other.
 *  - Messages and collectives keep the order of the calls: a collective that is called after a pending receive may wait for
 *    it, so do not call a collective before the matching send.
 *  - A message to the rank itself needs hocket_sendrecv() or a group; otherwise it is an INVALID_ARGUMENT.
 *
 *  docs/guide/groups-and-messages.md has the rules in full.
 *  @{ */

/** Sends `count` elements to rank `peer`. */
HOCKET_API hocket_result hocket_send(const void* send, size_t count, hocket_dtype dtype, int32_t peer, hocket_comm* comm,
                                     const hocket_call_options* options, hocket_work** work);

/** Receives `count` elements from rank `peer`. */
HOCKET_API hocket_result hocket_recv(void* recv, size_t count, hocket_dtype dtype, int32_t peer, hocket_comm* comm,
                                     const hocket_call_options* options, hocket_work** work);

/** Receives `count` elements from whichever other rank has sent a message, and stores that rank in *source.
 *
 *  *source is right when the call is complete, and undefined before that and after a failure. The caller keeps it valid as
 *  long as `recv`; NULL if it is not wanted. Receives take messages in the order of their calls: a later one, including one
 *  from a named rank, waits until this one has found its message. If several ranks have sent, they take turns. A rank that
 *  leaves cleanly causes no error while another rank remains; when the last one leaves, the receive fails with PEER_LOST.
 *  In a group it may take what this rank sends to itself; on a communicator of one rank that is its only use, and outside
 *  groups it is an INVALID_ARGUMENT there. It cannot be persistent (UNSUPPORTED). */
HOCKET_API hocket_result hocket_recv_any(void* recv, size_t count, hocket_dtype dtype, int32_t* source, hocket_comm* comm,
                                         const hocket_call_options* options, hocket_work** work);

/** Sends `sendcount` elements to rank `to` and receives `recvcount` elements from rank `from` at the same time.
 *
 *  The two halves match the sends and receives of other ranks. All ranks may call it with any peers, for instance round a
 *  circle. If `to` and `from` are both this rank, it is a copy and the counts must be equal; if only one of them is, that is
 *  an INVALID_ARGUMENT, and so are buffers that overlap. */
HOCKET_API hocket_result hocket_sendrecv(const void* send, size_t sendcount, int32_t to, void* recv, size_t recvcount,
                                         int32_t from, hocket_dtype dtype, hocket_comm* comm,
                                         const hocket_call_options* options, hocket_work** work);

/** @} */

#ifdef __cplusplus
}
#endif

#endif
