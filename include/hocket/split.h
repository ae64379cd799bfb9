/* clang-format off */ /* laid out by hand, as a page to read */
/** @file
 *  Communicators made from others. */
#ifndef HOCKET_SPLIT_H
#define HOCKET_SPLIT_H

#include <stddef.h>
#include <stdint.h>

#include "hocket/api.h"
#include "hocket/comm.h"
#include "hocket/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @defgroup split Communicators made from others
 *  Each of these functions is collective over the parent: all of its ranks make the same call, including those that get no
 *  child. A child is a communicator like any other; its ranks count from 0, it needs no store, and the caller destroys it.
 *  No other thread may call anything on the parent meanwhile. docs/guide/communicators.md.
 *
 *  A child with links of its own fails independently of its parent and its siblings. It may be used at the same time as
 *  they are, and be destroyed before or after them.
 *
 *  A child with `share_links` costs one exchange on the parent, or two where the parent is on several hosts, and neither
 *  threads nor descriptors. If its ranks share memory of a host, the first child that has them in this order also opens
 *  that memory. Where memory or descriptors have run out for one of them, or the family has opened it for 64 orders of
 *  ranks, the child's ranks exchange messages instead, and log a warning. The child, its parent and all other
 *  communicators on the same links are a family:
 *  - Any two ranks make the calls in which both take part in the same order, whichever members of the family these calls
 *    are on. Otherwise they get MISMATCH or TIMEOUT. A split counts as a call on its parent.
 *  - What breaks one member breaks all of them with one cause, which counts the ranks of the family's first communicator.
 *  - If a member is destroyed while another one is left, operations that are pending on it continue: keep their buffers.
 *
 *  A child of one rank belongs to no family and has neither threads nor descriptors in either case.
 *
 *  Errors of all three functions: INVALID_ARGUMENT; MISMATCH if ranks called different functions or gave different options
 *  or lists; OUT_OF_RESOURCES on some rank of the child, and whatever else breaks the child before this rank has left the
 *  call. The parent survives all of these. In addition, the errors of a collective on the parent, which break it.
 *  @{ */

/** A color for ranks that take part in a split but want no child. */
#define HOCKET_NO_COLOR (-1)

/** How to make a communicator from another. */
typedef struct hocket_split_options {
  size_t struct_size;  /**< sizeof(hocket_split_options), set by #HOCKET_SPLIT_OPTIONS_INIT. */
  int64_t timeout_ms;  /**< The deadline of this call, and of the child's calls that name none, in milliseconds.
                            0: the parent's. */
  const char* name;    /**< The child's name in messages. NULL: the parent's, followed by kind, number and color. */
  int32_t share_links; /**< 1: the child runs on its parent's links. 0: on its own. Equal on all ranks. */
} hocket_split_options;

/** Options that follow the parent; the child gets its own links. */
#define HOCKET_SPLIT_OPTIONS_INIT { sizeof(hocket_split_options), 0, NULL, 0 }

/** Makes one child for each color: the ranks that give the same color, 0 or more, in the order of their keys, and of their
 *  ranks if keys are equal. A rank that gives #HOCKET_NO_COLOR gets *child = NULL. `options` may be NULL. */
HOCKET_API hocket_result hocket_comm_split(hocket_comm* parent, int32_t color, int32_t key, hocket_comm** child,
                                           const hocket_split_options* options);

/** Makes a child with the same ranks as the parent. `options` may be NULL. */
HOCKET_API hocket_result hocket_comm_duplicate(hocket_comm* parent, hocket_comm** child,
                                               const hocket_split_options* options);

/** Makes a child whose rank i is the parent's rank ranks[i], for i = 0 … count-1. All ranks of the parent give the same
 *  list, in which no rank appears twice; the ranks that are not in it get *child = NULL. The list is read during the call.
 *  `options` may be NULL. */
HOCKET_API hocket_result hocket_comm_subset(hocket_comm* parent, const int32_t* ranks, int32_t count, hocket_comm** child,
                                            const hocket_split_options* options);

/** @} */

#ifdef __cplusplus
}
#endif

#endif
