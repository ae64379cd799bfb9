/* clang-format off */ /* laid out by hand, as a page to read */
/** @file
 *  Memory that ranks of one host share. */
#ifndef HOCKET_MEMORY_H
#define HOCKET_MEMORY_H

#include <stddef.h>

#include "hocket/api.h"
#include "hocket/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @defgroup memory Registered memory
 *  Collectives between ranks of one host need no copies if the buffers of all ranks are registered; otherwise the call
 *  works as with plain memory. Free or unregister memory only when no call uses it. All of these functions may be called
 *  from any thread.
 *  @{ */

/** Allocates at least `bytes` bytes, aligned to a page and zeroed, and registers them. Release them with hocket_mem_free().
 *
 *  Errors: INVALID_ARGUMENT (null, 0 bytes, or more than can be addressed), OUT_OF_RESOURCES (names the limit), UNSUPPORTED
 *  (this system has no memfd). */
HOCKET_API hocket_result hocket_mem_alloc(void** memory, size_t bytes);

/** Releases what hocket_mem_alloc() returned. NULL is allowed. Errors: INVALID_ARGUMENT (any other pointer). */
HOCKET_API hocket_result hocket_mem_free(void* memory);

/** Registers `bytes` bytes at `address`, which the caller has mapped shared and writable from the file `fd`.
 *
 *  The mapping and `fd` stay the caller's. Hocket keeps a duplicate of `fd` and seals the file against shrinking. A file
 *  that cannot be sealed (anything but a memfd that was made with MFD_ALLOW_SEALING) is used as plain memory, with a warning.
 *
 *  Errors: INVALID_ARGUMENT (not such a mapping), OUT_OF_RESOURCES. */
HOCKET_API hocket_result hocket_register(int fd, void* address, size_t bytes);

/** Ends the registration that hocket_register() made for `address`. Errors: INVALID_ARGUMENT (not registered). */
HOCKET_API hocket_result hocket_unregister(void* address);

/** @} */

#ifdef __cplusplus
}
#endif

#endif
