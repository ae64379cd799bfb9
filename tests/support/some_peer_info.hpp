// What a rank may tell about itself, with something in every field.
#pragma once

#include <string>

#include "src/comm/peer_info.hpp"

namespace hocket::testing_support {

inline comm::PeerInfo some_peer_info() {
  comm::PeerInfo info{.build = comm::BuildIdentity::own(),
                      .endpoints = {{"shm", std::string("\0binary", 7)}, {"tcp", ""}},
                      .standby = {{"tcp", "elsewhere"}},
                      .process = {.process = 12, .started = "345", .kernel = "boot/1", .host = "a host"},
                      .host = "a host",
                      .algorithm = "ring",
                      .tuning = "1234",
                      .deterministic = true,
                      .speed = NetworkSpeed::gbit_25};
  info.cores.add(77);
  return info;
}

}  // namespace hocket::testing_support
