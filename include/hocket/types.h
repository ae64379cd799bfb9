/* clang-format off */ /* laid out by hand, as a page to read */
/* Hocket's numbers: results, element types, reductions, formats on the wire. Part of the C99 contract; users include
 * hocket/hocket.h, which includes this. */
#ifndef HOCKET_TYPES_H
#define HOCKET_TYPES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a call came to. The number of a code never changes between versions. */
typedef enum hocket_result {
  HOCKET_OK = 0,
  HOCKET_IN_PROGRESS = 1,         /* hocket_work_test / hocket_work_wait: not finished yet; nothing is wrong */
  HOCKET_INVALID_ARGUMENT = 2,    /* a null, overlapping, overflowing or out-of-range argument; nothing was moved */
  HOCKET_UNSUPPORTED = 3,         /* well-formed, but this build or this pair of type and operation cannot do it */
  HOCKET_INVALID_ENVIRONMENT = 4, /* a missing or malformed environment variable or option */
  HOCKET_OUT_OF_RESOURCES = 5,    /* memory, file descriptors or threads ran out */
  HOCKET_ADDRESS_IN_USE = 6,      /* the port is taken */
  HOCKET_STORE_UNREACHABLE = 7,   /* the rendezvous store does not answer, or its connection was lost */
  HOCKET_RANK_TAKEN = 8,          /* another process already joined with this rank */
  HOCKET_PEER_LOST = 9,           /* a rank died, left, or its connection was lost */
  HOCKET_TIMEOUT = 10,            /* a deadline passed */
  HOCKET_ABORTED = 11,            /* hocket_comm_abort() was called on some rank */
  HOCKET_MISMATCH = 12,           /* ranks called different things */
  HOCKET_PROTOCOL_ERROR = 13,     /* bytes that are not Hocket's, or of another version */
  HOCKET_NOT_FOUND = 14,          /* no such key, algorithm or transport */
  HOCKET_INTERNAL = 15            /* a defect of Hocket; please report it */
} hocket_result;

/* Element types. Numbers never change between versions. */
typedef enum hocket_dtype {
  HOCKET_FLOAT32 = 0,
  HOCKET_FLOAT64 = 1,
  HOCKET_INT32 = 2,
  HOCKET_INT64 = 3,
  HOCKET_UINT8 = 4,
  HOCKET_INT8 = 5,
  HOCKET_INT16 = 6,
  HOCKET_UINT16 = 7,
  HOCKET_UINT32 = 8,
  HOCKET_UINT64 = 9,
  HOCKET_FLOAT16 = 10,       /* IEEE 754 binary16 */
  HOCKET_BFLOAT16 = 11,      /* the upper half of a float32 */
  HOCKET_FLOAT8_E4M3 = 12,   /* OCP: no infinities; what exceeds 448 becomes NaN */
  HOCKET_FLOAT8_E5M2 = 13,   /* OCP: as float16, with two bits of fraction */
  HOCKET_BOOL = 14,          /* one byte: 0 is false, anything else true; combined: 0 or 1 */
  HOCKET_COMPLEX64 = 15,     /* two float32: real, imaginary */
  HOCKET_COMPLEX128 = 16,    /* two float64 */
  HOCKET_FLOAT32_INT32 = 17, /* a value and where it was found, for HOCKET_MINLOC and HOCKET_MAXLOC: the structs below */
  HOCKET_FLOAT64_INT64 = 18,
  HOCKET_INT32_INT32 = 19,
  HOCKET_INT64_INT64 = 20
} hocket_dtype;

typedef struct hocket_float32_int32 { float value; int32_t index; } hocket_float32_int32;
typedef struct hocket_float64_int64 { double value; int64_t index; } hocket_float64_int64;
typedef struct hocket_int32_int32 { int32_t value; int32_t index; } hocket_int32_int32;
typedef struct hocket_int64_int64 { int64_t value; int64_t index; } hocket_int64_int64;

/* Reductions. Every rank ends with the same bits. Which types each is defined for stands behind it; any other pair is an
 * INVALID_ARGUMENT. Integer sums and products wrap modulo 2^bits. Wherever an operand of floats is NaN, so is the result, which
 * is then the positive quiet NaN without payload. Floats narrower than 32 bits are computed as float32 and rounded to the
 * nearest (ties to even): once where all ranks' operands are at hand (shared memory), else with each message that is added.
 * With one rank the output is a copy of the input. docs/reference/types-and-reductions.md has the details. */
typedef enum hocket_op {
  HOCKET_SUM = 0,     /* all but values with a location; of bools: or */
  HOCKET_PROD = 1,    /* the same; of bools: and */
  HOCKET_MIN = 2,     /* integers, floats (-0 is less than +0), bools */
  HOCKET_MAX = 3,
  HOCKET_AVG = 4,     /* sum, then divided by world_size: integers (toward zero), floats, complex numbers */
  HOCKET_PREMULTIPLIED_SUM = 5, /* sum of each rank's send times its options->scalar: the same types */
  HOCKET_BAND = 6,    /* bitwise: integers; of bools: as the logical ones */
  HOCKET_BOR = 7,
  HOCKET_BXOR = 8,
  HOCKET_LAND = 9,    /* logical: integers (not 0 is true; combined: 0 or 1), bools */
  HOCKET_LOR = 10,
  HOCKET_MINLOC = 11, /* the least value and its index, of values with a location; of equal ones, that with the least index */
  HOCKET_MAXLOC = 12, /* both: a NaN wins over all numbers */
  HOCKET_USER = 13    /* options->function, of any type */
} hocket_op;

/* How float32 travels between ranks. All but HOCKET_WIRE_EXACT are a permission to lose precision for less bytes: allreduce and
 * reduce_scatter with HOCKET_SUM, and allgather, of HOCKET_FLOAT32 take them. Sums are taken in float32, every contribution and
 * every result is rounded once, all ranks hold the same bits, and where all ranks share memory the call is exact. Rules and error
 * bounds: docs/reference/lower-precision.md. */
typedef enum hocket_wire {
  HOCKET_WIRE_EXACT = 0,       /* as it is in memory */
  HOCKET_WIRE_BFLOAT16 = 1,    /* rounded to nearest even; half the bytes */
  HOCKET_WIRE_INT8_BLOCKS = 2  /* blocks of 64 elements as integers -127 … 127 with one float32 scale; 17/64 of the bytes. A block
                                  in which an element is no finite number arrives as NaNs */
} hocket_wire;

#ifdef __cplusplus
}
#endif

#endif
