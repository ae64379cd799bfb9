// PeerInfo: what a rank tells the others of its group about itself when they meet.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/core_set.hpp"
#include "src/base/process_identity.hpp"
#include "src/comm/build_identity.hpp"
#include "src/plan/machine_class.hpp"
#include "src/spi/transport.hpp"

namespace hocket::comm {

// Where a rank can be reached over one transport.
struct Endpoint {
  std::string transport;
  Address address;

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

struct PeerInfo {
  BuildIdentity build;              // of another protocol: all else is empty
  std::vector<Endpoint> endpoints;  // in order of preference
  std::vector<Endpoint> standby;    // likewise, for the time after the communicator broke (standby.hpp)
  ProcessIdentity process;
  std::string host;       // equal for ranks of one host
  std::string algorithm;  // options that must be equal on all ranks: Choices::summary()
  std::string tuning;     // and Tuning::digest()
  bool deterministic = false;
  NetworkSpeed speed = NetworkSpeed::unknown;  // of the interface between hosts
  CoreSet cores;                               // that this rank may run on

  std::string serialise() const;
  // Code::protocol_error where the bytes are something else.
  static Result<PeerInfo> parse(std::string_view bytes);

  friend bool operator==(const PeerInfo&, const PeerInfo&) = default;
};
inline constexpr std::size_t peer_info_bytes_max = 2048;

// Ranks exchange what they tell in blocks of equal size; a rank that has nothing to tell, because it failed, puts in
// why.
using PeerInfoBlock = std::span<std::byte, peer_info_bytes_max>;
// The block of one rank among those of all.
PeerInfoBlock peer_info_block(std::span<std::byte> all, Rank rank);
// Code::internal where it does not fit.
Status write_peer_info(PeerInfoBlock block, const Result<PeerInfo>& info);
// The failure where the block holds one; Code::protocol_error where it holds neither.
Result<PeerInfo> read_peer_info(PeerInfoBlock block);
// What each rank tells, or why it has nothing to tell; `mine` is what this one tells. `allgather` brings every rank's
// block to all.
Result<std::vector<Result<PeerInfo>>> exchange_peer_infos(Rank rank, Rank size, const Result<PeerInfo>& mine,
                                                          const std::function<Status(std::span<std::byte>)>& allgather);

}  // namespace hocket::comm
