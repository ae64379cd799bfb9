// The C API's version, and its names and sizes of numbers.
#include <cstdint>

#include "hocket/hocket.h"
#include "src/spi/types.hpp"

#define HOCKET_TEXT(number) #number
#define HOCKET_VERSION_TEXT(major, minor, patch) HOCKET_TEXT(major) "." HOCKET_TEXT(minor) "." HOCKET_TEXT(patch)

extern "C" {

const char* hocket_version(void) {
  return HOCKET_VERSION_TEXT(HOCKET_VERSION_MAJOR, HOCKET_VERSION_MINOR, HOCKET_VERSION_PATCH);
}

const char* hocket_result_name(hocket_result result) {
  switch (result) {
    case HOCKET_OK: return "HOCKET_OK";
    case HOCKET_IN_PROGRESS: return "HOCKET_IN_PROGRESS";
    case HOCKET_INVALID_ARGUMENT: return "HOCKET_INVALID_ARGUMENT";
    case HOCKET_UNSUPPORTED: return "HOCKET_UNSUPPORTED";
    case HOCKET_INVALID_ENVIRONMENT: return "HOCKET_INVALID_ENVIRONMENT";
    case HOCKET_OUT_OF_RESOURCES: return "HOCKET_OUT_OF_RESOURCES";
    case HOCKET_ADDRESS_IN_USE: return "HOCKET_ADDRESS_IN_USE";
    case HOCKET_STORE_UNREACHABLE: return "HOCKET_STORE_UNREACHABLE";
    case HOCKET_RANK_TAKEN: return "HOCKET_RANK_TAKEN";
    case HOCKET_PEER_LOST: return "HOCKET_PEER_LOST";
    case HOCKET_TIMEOUT: return "HOCKET_TIMEOUT";
    case HOCKET_ABORTED: return "HOCKET_ABORTED";
    case HOCKET_MISMATCH: return "HOCKET_MISMATCH";
    case HOCKET_PROTOCOL_ERROR: return "HOCKET_PROTOCOL_ERROR";
    case HOCKET_NOT_FOUND: return "HOCKET_NOT_FOUND";
    case HOCKET_INTERNAL: return "HOCKET_INTERNAL";
    case HOCKET_EXCLUDED: return "HOCKET_EXCLUDED";
  }
  return "unknown result";
}

size_t hocket_dtype_size(hocket_dtype dtype) {
  const int number = dtype;
  return number < 0 || number > UINT8_MAX ? 0 : hocket::size_of(static_cast<hocket::DataType>(number));
}

}  // extern "C"
