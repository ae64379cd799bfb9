// What two ranks of a hub share. Locks: a wire's, then a mailbox's; never two of a kind.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "src/base/fd.hpp"
#include "src/spi/transport.hpp"

namespace hocket::loopback {

// A message on its way. Small ones own a copy; large ones refer to the sender's buffer until the receiver took them.
struct Parcel {
  Tag tag;
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::vector<std::byte> copy;
  unsigned delay = 0;

  // Whether its bytes are still the sender's.
  bool borrowed() const { return copy.empty() && bytes > 0; }
  const std::byte* content() const { return copy.empty() ? data : copy.data(); }
};

struct Direction {
  std::deque<Parcel> parcels;
  std::uint64_t sent = 0;
  std::uint64_t taken = 0;
  bool opened = false;             // the sender has called connect()
  bool goodbye = false;            // nothing follows the parcels
  bool silent = false;             // the sender has ended the link, and says no more
  std::optional<Waiting> waiting;  // what the sender told last, until it is heard

  // Takes back what refers to the sender's memory, and all that comes after it.
  void withdraw();
};

// Both directions between two ranks; index 0 is the one from the lower rank.
struct Wire {
  std::mutex mutex;
  Direction directions[2];
  Status broken[2];  // as the sender of that direction is to see it; ok: not broken
};

// How others wake a rank.
struct Mailbox {
  std::mutex mutex;
  UniqueFd wake_event;  // rung for anything, if the rank has armed it
  UniqueFd alarm;       // rung for a peer's coming and going
  bool armed = false;
  bool rung = false;
  bool alarmed = false;
  enum class State { absent, present, gone };
  std::atomic<State> state{State::absent};

  bool open();
  void ring();
  void raise();
  // Silences both.
  void quiet();
};

}  // namespace hocket::loopback
