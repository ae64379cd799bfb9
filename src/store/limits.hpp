// How much of a machine the store's server may take, whoever asks for it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hocket::store {

// Of one dictionary. Every key counts with its value and what keeping it costs.
struct DictionaryLimits {
  std::size_t keys = SIZE_MAX;
  std::size_t bytes = SIZE_MAX;
};

struct ServerLimits {
  std::size_t clients = 0;  // 0: as many as leave an eighth of this process's file descriptors for other things
  DictionaryLimits dictionary{.keys = std::size_t{1} << 20, .bytes = std::size_t{256} << 20};
  std::size_t waiting_bytes = std::size_t{64} << 20;  // of requests that wait for keys
  std::size_t input_bytes = std::size_t{64} << 20;    // of large requests that have not come whole yet
};

// That this process may have.
std::size_t descriptors_max();
// So many clients leave an eighth of them, and some where there are few.
std::size_t clients_by_descriptors();

}  // namespace hocket::store
