/* clang-format off */ /* laid out by hand, as a page to read */
/** @file
 *  The version, and what every other header needs. */
#ifndef HOCKET_API_H
#define HOCKET_API_H

/** @defgroup version Version
 *  @{ */

#define HOCKET_VERSION_MAJOR 0 /**< Changes when the ABI breaks. */
#define HOCKET_VERSION_MINOR 1 /**< Changes when something is added; before 1.0.0, also when the ABI breaks. */
#define HOCKET_VERSION_PATCH 0 /**< Changes when only defects are fixed. */

/** Marks a function that the shared library exports. */
#if defined(_WIN32)
#define HOCKET_API
#else
#define HOCKET_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** The version of the library that is loaded, as "major.minor.patch". The string is static. Any thread; never fails. */
HOCKET_API const char* hocket_version(void);

#ifdef __cplusplus
}
#endif

/** @} */

#endif
