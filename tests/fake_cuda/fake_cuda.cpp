// Stands for the CUDA driver where a test needs device memory and there is none: it says of the memory that it is told
// of what the driver would.
#include <cstddef>
#include <cstdint>

namespace {

struct Claim {
  std::uintptr_t begin = 0, end = 0;
  unsigned type = 0, managed = 0;
  int device = 0;
};
Claim claim;

constexpr int invalid_value = 1;

}  // namespace

extern "C" {

// From here on `bytes` at `memory` are of this type (1: host, 2: device), and nothing else is known.
__attribute__((visibility("default"))) void fake_cuda_claim(const void* memory, std::size_t bytes, unsigned type,
                                                            unsigned managed, int device) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  claim = {begin, begin + bytes, type, managed, device};
}

__attribute__((visibility("default"))) int cuPointerGetAttribute(void* value, int attribute, std::uintptr_t address) {
  if (address < claim.begin || address >= claim.end) return invalid_value;
  switch (attribute) {
    case 2: *static_cast<unsigned*>(value) = claim.type; return 0;
    case 8: *static_cast<unsigned*>(value) = claim.managed; return 0;
    case 9: *static_cast<int*>(value) = claim.device; return 0;
    default: return invalid_value;
  }
}

}  // extern "C"
