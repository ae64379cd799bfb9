#include "src/cuda/driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <type_traits>

namespace hocket::cuda {
namespace {

#define HOCKET_TEXT(name) #name
#define HOCKET_EXPANDED_TEXT(name) HOCKET_TEXT(name)

struct Loaded {
  Driver driver;
  Status status;
};

Status load(Driver& driver) {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);  // never closed: the program may use it, too
  if (library == nullptr) return {Code::unsupported, "there is no CUDA driver: libcuda.so.1 cannot be loaded"};
  const char* missing = nullptr;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    if (function == nullptr) missing = name;
  };
#define HOCKET_CUDA_FIND(name) find(driver.name##_, HOCKET_EXPANDED_TEXT(name));
  HOCKET_CUDA_FUNCTIONS(HOCKET_CUDA_FIND)
#undef HOCKET_CUDA_FIND
  if (missing != nullptr) {
    return {Code::unsupported, fmt::format("the CUDA driver is too old or too new: it has no {}", missing)};
  }
  if (const CUresult result = driver.cuInit_(0); result != CUDA_SUCCESS) {
    return {Code::unsupported, fmt::format("there is no GPU that CUDA can use: {}",
                                           driver.check(result, "starting the CUDA driver").message())};
  }
  return {};
}

Code code_of(CUresult result) {
  switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY: return Code::out_of_resources;
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_MAP_FAILED: return Code::invalid_argument;
    case CUDA_ERROR_NOT_SUPPORTED:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
    case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT: return Code::unsupported;
    default: return Code::internal;
  }
}

}  // namespace

Status Driver::check(CUresult result, std::string_view what) const {
  if (result == CUDA_SUCCESS) return {};
  const char* words = nullptr;
  (void)cuGetErrorString_(result, &words);
  return {code_of(result),
          fmt::format("{}: {} (CUDA {})", what, words == nullptr ? "unknown error" : words, static_cast<int>(result))};
}

Result<const Driver*> driver() {
  static const Loaded loaded = [] {
    Loaded made;
    made.status = load(made.driver);
    return made;
  }();
  if (!loaded.status.ok()) return loaded.status;
  return &loaded.driver;
}

}  // namespace hocket::cuda
