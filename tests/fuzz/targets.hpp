// All targets, for what treats them alike.
#pragma once

#include "tests/fuzz/target.hpp"

namespace hocket::fuzz {

inline constexpr const Target* all_targets[] = {&environment_values, &idx_files,      &network_files,  &peer_infos,
                                                &shm_packets,        &store_contents, &store_messages, &tcp_greetings,
                                                &tcp_messages,       &tuning_files};

}  // namespace hocket::fuzz
