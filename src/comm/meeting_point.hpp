// Where the ranks of a job meet when no store is named: rank 0 serves one, and the others find it.
//
// A port may be taken by another program, as torchrun takes MASTER_PORT for a store of its own. Rank 0 then serves on
// the next port of the list, and the others try the ports in turn. Each store that a rank 0 serves holds the name of
// its meeting point from the beginning, so no rank takes the store of another job for that of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/process_identity.hpp"
#include "src/spi/store.hpp"
#include "src/store/store_server.hpp"

namespace hocket::comm {

struct MeetingPoint {
  std::string host;  // where rank 0 listens
  std::vector<std::uint16_t> ports;
  std::string name;  // equal on all ranks of the job, and on no rank of another
  // A store without a name on the first port is that of a daemon, hocket-store, and serves as well.
  bool daemon_possible = false;
  // Names and numbers by which the others look for it, in this order; none: `host`.
  std::vector<std::string> addresses = {};
  // The variable that limits the ports; empty: none does.
  std::string ports_limited_by = {};
  // Other addresses at which rank 0 listens.
  std::vector<std::string> besides = {};
  // The name of the communicator for which it serves the store.
  std::string job = {};

  // host:port as MASTER_ADDR and MASTER_PORT say, and the ports after it; without the port itself where it is known to
  // be taken, and without those behind `last`.
  static MeetingPoint at(const std::string& host, std::uint16_t port, bool taken, std::uint16_t last = 0xFFFF);
  // On this host, for a job that is told apart from others by `key` alone.
  static MeetingPoint of_job(const std::string& key);
};

// What a store that a rank 0 serves says about itself, under meeting_point_key.
struct ServedStore {
  std::string point;             // the name of the meeting point
  std::string job;               // of the communicator with which it began
  ProcessIdentity process = {};  // rank 0

  std::string serialise() const;
  static ServedStore parse(std::string_view text);
};

// What to listen at, so that all interfaces hear: "::", for both families, or "0.0.0.0" where there is no IPv6.
std::string every_address();

inline constexpr int ports_of_meeting = 9;  // the port, and those that stand in for one that is taken

// Opens the store. `serves`: this rank is to serve it to so many, itself among them; 0: to nobody. The server is left
// in `server`, and may be there from an earlier call. Waits for rank 0 until the deadline. Errors: address_in_use,
// store_unreachable, protocol_error, mismatch and invalid_environment (where the store and this rank do not trust each
// other), out_of_resources (where the store's server or this rank lacks descriptors), aborted, and what
// StoreServer::start() fails with.
Result<std::unique_ptr<Store>> meet_at(const MeetingPoint& point, std::size_t serves,
                                       std::unique_ptr<StoreServer>& server, Deadline deadline,
                                       const std::stop_token& stop, const Trust& trust = {});

}  // namespace hocket::comm
