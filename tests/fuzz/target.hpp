// What is fuzzed: every function that takes bytes which come from outside. Each target feeds one group of parsers. The
// programs fuzz-NAME (HOCKET_FUZZ) hand it what libFuzzer makes up; the unit tests replay its seeds and the corpus.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "src/spi/status.hpp"

namespace hocket::fuzz {

struct Target {
  std::string_view name;  // also of its file and of its folder in corpus/
  // Whether a parser took the input for valid. Aborts where something that always holds does not.
  bool (*run)(std::string_view input);
  // Valid inputs, made by our own code.
  std::vector<std::string> (*seeds)();
};

extern const Target environment_values, handshakes, idx_files, network_files, peer_infos, shm_packets, store_contents,
    store_messages, store_snapshots, store_texts, tcp_greetings, tcp_messages, tuning_files;

inline void require(bool holds) {
  if (!holds) std::abort();
}

// Text that strangers can bring about reaches terminals and logs, so it steers none and stays short.
inline void require_printable(std::string_view text) {
  constexpr std::size_t bytes_max = 16384;
  require(text.size() <= bytes_max);
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    require(byte >= 0x20 && byte != 0x7f);
  }
}

// Targets with several parsers: the first byte of an input says which one gets the rest.
inline unsigned choose(std::string_view& input, unsigned parsers) {
  if (input.empty()) return 0;
  const unsigned chosen = static_cast<unsigned char>(input.front()) % parsers;
  input.remove_prefix(1);
  return chosen;
}
inline std::string chosen(unsigned parser, std::string_view rest) {
  return static_cast<char>(parser) + std::string(rest);
}

}  // namespace hocket::fuzz
