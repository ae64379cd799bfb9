/* clang-format off */ /* laid out by hand, as a page to read */
/** @file
 *  Hocket's enumerations: results, element types, reductions and wire formats. */
#ifndef HOCKET_TYPES_H
#define HOCKET_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "hocket/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @defgroup results Results
 *  @{ */

/** Result of a call. The number of a code never changes between versions. */
typedef enum hocket_result {
  HOCKET_OK = 0,                  /**< The call succeeded. */
  HOCKET_IN_PROGRESS = 1,         /**< Not complete yet, from functions that test or wait. Nothing is wrong. */
  HOCKET_INVALID_ARGUMENT = 2,    /**< An argument is null, overlaps, overflows or is out of range. Nothing was moved. */
  HOCKET_UNSUPPORTED = 3,         /**< The call is well-formed, but this build, or this pair of type and operation,
                                       cannot do it. */
  HOCKET_INVALID_ENVIRONMENT = 4, /**< An environment variable or option is missing or malformed. */
  HOCKET_OUT_OF_RESOURCES = 5,    /**< Memory, file descriptors or threads ran out. */
  HOCKET_ADDRESS_IN_USE = 6,      /**< The port is taken. */
  HOCKET_STORE_UNREACHABLE = 7,   /**< The rendezvous store does not answer, or its connection was lost. */
  HOCKET_RANK_TAKEN = 8,          /**< Another process has already joined with this rank. */
  HOCKET_PEER_LOST = 9,           /**< A rank died or left, or its connection was lost. */
  HOCKET_TIMEOUT = 10,            /**< A deadline passed. */
  HOCKET_ABORTED = 11,            /**< Some rank called hocket_comm_abort(), or the communicator was destroyed with work
                                       pending. */
  HOCKET_MISMATCH = 12,           /**< Ranks made calls that do not match. */
  HOCKET_PROTOCOL_ERROR = 13,     /**< Bytes arrived that Hocket, or this version of it, did not send. */
  HOCKET_NOT_FOUND = 14,          /**< There is no such key, algorithm, transport or call. */
  HOCKET_INTERNAL = 15,           /**< A defect of Hocket. Please report it. */
  HOCKET_EXCLUDED = 16            /**< The other ranks go on without this one, see hocket_comm_shrink(). */
} hocket_result;

/** The name of a result, for instance "HOCKET_TIMEOUT"; "unknown result" for an unknown value. The string is static.
 *  Any thread; never fails. */
HOCKET_API const char* hocket_result_name(hocket_result result);

/** @} */

/** @defgroup collective_numbers Numbers of collectives
 *  @{ */

/** Collectives and messages, for hocket_call(). Numbers never change between versions. */
typedef enum hocket_collective {
  HOCKET_ALLREDUCE = 0,         /**< hocket_allreduce() */
  HOCKET_REDUCE = 1,            /**< hocket_reduce() */
  HOCKET_REDUCE_SCATTER = 2,    /**< hocket_reduce_scatter() */
  HOCKET_ALLGATHER = 3,         /**< hocket_allgather() */
  HOCKET_BROADCAST = 4,         /**< hocket_broadcast() */
  HOCKET_SCATTER = 5,           /**< hocket_scatter() */
  HOCKET_GATHER = 6,            /**< hocket_gather() */
  HOCKET_ALLTOALL = 7,          /**< hocket_alltoall() */
  HOCKET_BARRIER = 8,           /**< hocket_barrier() */
  HOCKET_SEND = 9,              /**< hocket_send() */
  HOCKET_RECV = 10,             /**< hocket_recv() */
  HOCKET_REDUCE_SCATTER_V = 11, /**< hocket_reduce_scatter_v(); it takes counts, so hocket_call() refuses it. */
  HOCKET_ALLGATHER_V = 12,      /**< hocket_allgather_v(); hocket_call() refuses it. */
  HOCKET_SCATTER_V = 13,        /**< hocket_scatter_v(); hocket_call() refuses it. */
  HOCKET_GATHER_V = 14,         /**< hocket_gather_v(); hocket_call() refuses it. */
  HOCKET_ALLTOALL_V = 15,       /**< hocket_alltoall_v(); hocket_call() refuses it. */
  HOCKET_SCAN = 16,             /**< hocket_scan() */
  HOCKET_EXSCAN = 17            /**< hocket_exscan() */
} hocket_collective;

/** @} */

/** @defgroup element_types Element types
 *  @{ */

/** The type of a buffer's elements. Numbers never change between versions. */
typedef enum hocket_dtype {
  HOCKET_FLOAT32 = 0,        /**< IEEE 754 binary32. */
  HOCKET_FLOAT64 = 1,        /**< IEEE 754 binary64. */
  HOCKET_INT32 = 2,          /**< int32_t */
  HOCKET_INT64 = 3,          /**< int64_t */
  HOCKET_UINT8 = 4,          /**< uint8_t */
  HOCKET_INT8 = 5,           /**< int8_t */
  HOCKET_INT16 = 6,          /**< int16_t */
  HOCKET_UINT16 = 7,         /**< uint16_t */
  HOCKET_UINT32 = 8,         /**< uint32_t */
  HOCKET_UINT64 = 9,         /**< uint64_t */
  HOCKET_FLOAT16 = 10,       /**< IEEE 754 binary16. */
  HOCKET_BFLOAT16 = 11,      /**< The upper half of a float32. */
  HOCKET_FLOAT8_E4M3 = 12,   /**< OCP 8-bit float without infinities: what exceeds 448 becomes NaN. */
  HOCKET_FLOAT8_E5M2 = 13,   /**< OCP 8-bit float: a float16 with two bits of fraction. */
  HOCKET_BOOL = 14,          /**< One byte: 0 is false, anything else is true. A reduction writes 0 or 1. */
  HOCKET_COMPLEX64 = 15,     /**< Two float32: the real part, then the imaginary part. */
  HOCKET_COMPLEX128 = 16,    /**< Two float64: the real part, then the imaginary part. */
  HOCKET_FLOAT32_INT32 = 17, /**< hocket_float32_int32 */
  HOCKET_FLOAT64_INT64 = 18, /**< hocket_float64_int64 */
  HOCKET_INT32_INT32 = 19,   /**< hocket_int32_int32 */
  HOCKET_INT64_INT64 = 20,   /**< hocket_int64_int64 */
  HOCKET_OPAQUE = 21         /**< A struct of the caller's, of options->element_bytes bytes: every collective moves it, and
                                  #HOCKET_USER alone reduces it. */
} hocket_dtype;

/** The most bytes that one #HOCKET_OPAQUE element may have. */
#define HOCKET_ELEMENT_BYTES_MAX 4096

/** A value and the place where it was found, for #HOCKET_MINLOC and #HOCKET_MAXLOC. */
typedef struct hocket_float32_int32 {
  float value;   /**< What is compared. */
  int32_t index; /**< Where it was found: any number of the caller's. */
} hocket_float32_int32;

/** A value and the place where it was found, for #HOCKET_MINLOC and #HOCKET_MAXLOC. */
typedef struct hocket_float64_int64 {
  double value;  /**< What is compared. */
  int64_t index; /**< Where it was found: any number of the caller's. */
} hocket_float64_int64;

/** A value and the place where it was found, for #HOCKET_MINLOC and #HOCKET_MAXLOC. */
typedef struct hocket_int32_int32 {
  int32_t value; /**< What is compared. */
  int32_t index; /**< Where it was found: any number of the caller's. */
} hocket_int32_int32;

/** A value and the place where it was found, for #HOCKET_MINLOC and #HOCKET_MAXLOC. */
typedef struct hocket_int64_int64 {
  int64_t value; /**< What is compared. */
  int64_t index; /**< Where it was found: any number of the caller's. */
} hocket_int64_int64;

/** The size of one element in bytes; 0 for an unknown value. Any thread; never fails. */
HOCKET_API size_t hocket_dtype_size(hocket_dtype dtype);

/** @} */

/** @defgroup reductions Reductions
 *  Every rank ends with the same bits. Each reduction lists the types that it is defined for; any other pair is a
 *  HOCKET_INVALID_ARGUMENT. "Numbers" below are integers, floats and complex numbers.
 *
 *  - Integer sums and products wrap modulo 2^bits.
 *  - If an operand of a float reduction is NaN, the result is the positive quiet NaN without payload.
 *  - Floats narrower than 32 bits are computed as float32 and rounded to the nearest value, ties to even. They are
 *    rounded once if all operands are at hand (ranks that share memory), otherwise after each operand that is added.
 *  - With one rank, the output is a copy of the input.
 *
 *  docs/reference/types-and-reductions.md has the details.
 *  @{ */

/** How operands are combined. Numbers never change between versions. */
typedef enum hocket_op {
  HOCKET_SUM = 0,               /**< Numbers: the sum. Bools: or. */
  HOCKET_PROD = 1,              /**< Numbers: the product. Bools: and. */
  HOCKET_MIN = 2,               /**< Integers, floats (-0 is less than +0) and bools: the least. */
  HOCKET_MAX = 3,               /**< Integers, floats (-0 is less than +0) and bools: the greatest. */
  HOCKET_AVG = 4,               /**< Numbers: the sum divided by world_size; integers are rounded toward zero. */
  HOCKET_PREMULTIPLIED_SUM = 5, /**< Numbers: the sum of every rank's input times that rank's options->scalar. */
  HOCKET_BAND = 6,              /**< Integers: bitwise and. Bools: and. */
  HOCKET_BOR = 7,               /**< Integers: bitwise or. Bools: or. */
  HOCKET_BXOR = 8,              /**< Integers: bitwise exclusive or. Bools: exclusive or. */
  HOCKET_LAND = 9,              /**< Integers and bools: 1 if all operands differ from 0, else 0. */
  HOCKET_LOR = 10,              /**< Integers and bools: 1 if any operand differs from 0, else 0. */
  HOCKET_MINLOC = 11,           /**< Values with a location: the least value, and its index. Among equal values the
                                     least index wins; a NaN wins over every number. */
  HOCKET_MAXLOC = 12,           /**< Values with a location: the greatest value, and its index. Among equal values the
                                     least index wins; a NaN wins over every number. */
  HOCKET_USER = 13              /**< All types: the caller's own function, options->function. */
} hocket_op;

/** @} */

/** @defgroup wire_formats Wire formats
 *  Every format except HOCKET_WIRE_EXACT permits Hocket to trade precision for fewer bytes between hosts. allreduce and
 *  reduce_scatter with HOCKET_SUM, and allgather, take them for HOCKET_FLOAT32. Sums are taken in float32; every
 *  contribution is rounded once, and so is every result; all ranks hold the same bits. If all ranks share memory, the
 *  call is exact. docs/reference/lower-precision.md has the rules and the error bounds.
 *  @{ */

/** How float32 travels between ranks. */
typedef enum hocket_wire {
  HOCKET_WIRE_EXACT = 0,      /**< As it is in memory. */
  HOCKET_WIRE_BFLOAT16 = 1,   /**< Rounded to the nearest bfloat16, ties to even: half of the bytes. */
  HOCKET_WIRE_INT8_BLOCKS = 2 /**< Blocks of 64 elements as integers from -127 to 127 with one float32 scale: 17/64 of
                                   the bytes. A block with an infinity or a NaN in it arrives as NaNs. */
} hocket_wire;

/** @} */

#ifdef __cplusplus
}
#endif

#endif
