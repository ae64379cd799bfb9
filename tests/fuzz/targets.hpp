// All targets, for what treats them alike.
#pragma once

#include "tests/fuzz/target.hpp"

namespace hocket::fuzz {

inline constexpr const Target* all_targets[] = {
    &environment_values, &handshakes,      &idx_files,   &network_files, &peer_infos,   &shm_packets, &store_contents,
    &store_messages,     &store_snapshots, &store_texts, &tcp_greetings, &tcp_messages, &tuning_files};

}  // namespace hocket::fuzz
