/* clang-format off */
/* The order of a reader, not of the alphabet. */
#ifndef HOCKET_HOCKET_H
#define HOCKET_HOCKET_H

/** @file
 *  The whole C API.
 *
 *  @mainpage The C API
 *  Hocket is collective communication between processes. This C99 API is the contract and the only ABI; hocket.hpp wraps it
 *  for C++20. Include hocket/hocket.h for all of it, or one of the headers that it includes.
 *
 *  **Results.** Every function that can fail returns a ::hocket_result, which is HOCKET_OK or says what went wrong.
 *  hocket_last_error() and hocket_last_cause() describe the failure of the latest call on the calling thread.
 *
 *  **Counts** are in elements, never in bytes. If a buffer holds one block for each rank, its function says so.
 *
 *  **Memory.** The caller owns every data buffer. It stays valid, and unchanged if it is an input, until the call returns
 *  or, for an asynchronous call, until its work is complete. Hocket never frees a caller's buffer.
 *
 *  **Order.** All ranks make the same collective calls on a communicator in the same order. A rank that calls something else
 *  is detected: all ranks involved get HOCKET_MISMATCH with both calls in the message. A message that meets a collective is
 *  also a mismatch, or a TIMEOUT if neither rank has sent anything yet. A rank that only sends (the root of a broadcast or
 *  scatter, the other ranks of a reduce or gather), or that needs nothing of some ranks (in a scan, or where a block is
 *  empty), may return early, and then gets such an error, or the news of a peer's death, from a later call. Nothing hangs,
 *  and no sum is wrong.
 *
 *  **Threads.** A communicator may be used from several threads. Calls take effect in the order in which they enter the
 *  library, and that order must be the same on all ranks.
 *
 *  **Failures.** The first failure of communication (a dead peer, a deadline, a mismatch, an abort) breaks the communicator on
 *  every rank, with the same first cause, which every later call returns. Only hocket_comm_agree(), hocket_comm_shrink() and
 *  hocket_comm_destroy() are useful then. An
 *  invalid argument is found before anything moves: it does not break the communicator, and buffers stay unchanged. After
 *  any other failure the contents of an output buffer (in place, of the input too) are unspecified, because other ranks may
 *  have sent their part; nothing outside the buffer is written.
 *
 *  **Growth.** Structs whose first member is `struct_size` can grow in later versions. Initialise them with their *_INIT
 *  macro, or set struct_size to sizeof(the struct) and everything else to zero. */

#include "hocket/api.h"           /* version */
#include "hocket/types.h"         /* results, element types, reductions, wire formats */
#include "hocket/errors.h"        /* why the latest call failed */
#include "hocket/store.h"         /* a rendezvous store of the caller's */
#include "hocket/comm.h"          /* creating and destroying communicators */
#include "hocket/split.h"         /* communicators made from others */
#include "hocket/creation.h"      /* creating them in the background */
#include "hocket/agree.h"         /* agreeing, although ranks die */
#include "hocket/shrink.h"        /* going on without the ranks that are gone */
#include "hocket/join.h"          /* taking in new processes */
#include "hocket/call.h"          /* options of a call; how the latest one was carried out */
#include "hocket/work.h"          /* asynchronous and persistent calls */
#include "hocket/collectives.h"   /* allreduce, broadcast … */
#include "hocket/collectives_v.h" /* the same with blocks of unequal size */
#include "hocket/lists.h"         /* the same on lists of tensors */
#include "hocket/messages.h"      /* send, receive */
#include "hocket/groups.h"        /* calls that start together */
#include "hocket/memory.h"        /* memory that ranks of one host share */

#endif
