// A program of libFuzzer's for one target, which HOCKET_FUZZ_TARGET names.
// `fuzz-NAME --seeds FOLDER` writes the target's seeds there instead.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/fuzz/target.hpp"

namespace {

constexpr const hocket::fuzz::Target& target = hocket::fuzz::HOCKET_FUZZ_TARGET;

int write_seeds(const std::string& folder) {
  int number = 0;
  for (const std::string& seed : target.seeds()) {
    std::FILE* const file = std::fopen((folder + "/seed-" + std::to_string(number++)).c_str(), "wb");
    if (file == nullptr) return 1;
    const bool whole = std::fwrite(seed.data(), 1, seed.size(), file) == seed.size();
    if (std::fclose(file) != 0 || !whole) return 1;
  }
  return 0;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  if (*count == 3 && std::strcmp((*arguments)[1], "--seeds") == 0) std::exit(write_seeds((*arguments)[2]));
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  target.run({reinterpret_cast<const char*>(data), size});
  return 0;
}
