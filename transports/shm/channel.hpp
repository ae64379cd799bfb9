// Channel: the Unix socket between two ranks of one host. Its end is how a peer's death is noticed; it carries
// everything that is not data: greetings, file descriptors, the cause of a failure, goodbye.
//
// A packet is one message of a SOCK_SEQPACKET socket: a fixed head, a text, and file descriptors beside it. Both ends
// run on one kernel, so numbers travel as they lie in memory; nothing of what comes is trusted.
#pragma once

#include <poll.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/fd.hpp"
#include "src/base/fork.hpp"
#include "src/spi/status.hpp"

namespace hocket::shm {

// Of packets, and of what lies in rings and windows.
inline constexpr std::uint32_t channel_version = 15;

enum class PacketKind : std::uint32_t {
  hello = 1,    // words: group, from, to; where there is a secret, the sender's number as text, else its wake event
  welcome,      // words: the same; from the side that was dialled, which lets the other in; with its wake event where
                // there is no secret
  cause,        // the sender's link is broken; nothing follows. See encode(Cause)
  goodbye,      // the sender leaves in good order, all its messages lie in the ring; nothing follows
  ring,         // words: bytes; the memory through which the sender's messages will come
  opening,      // words: window, fingerprint of its members; the sender opens it
  segment,      // words: window, bytes; the memory of all its members
  ready,        // words: window. See WindowHandshake
  refusal,      // words: window, code, rank that failed, rank at fault; there is no window, and why
  region,       // words: window, region, offset in the file, bytes; registered memory
  gone_region,  // words: window, region; it is no longer registered
  waiting,      // words: a Waiting of the sender
  challenge,    // words: group, from, to; from the side that was dialled, before the welcome, with its number and its
                // proof as text, and its wake event
  proof,        // words: the same; from the side that dials, with its proof as text and its wake event
  distrust      // words: the number of a Distrust; in place of what would come next in a greeting
};

inline constexpr std::size_t packet_words = 6;

struct Packet {
  PacketKind kind = PacketKind::goodbye;
  std::array<std::uint64_t, packet_words> words{};
  std::string text = {};
  std::vector<UniqueFd> fds = {};  // of a packet that came
};

// What a packet's word says, whatever it holds: a code that is none of a failure becomes Code::internal.
Code failure_code(std::uint64_t word);

Packet packet_of(const Cause& cause);
// The same, into a packet that packet_of() has made; needs no memory. Texts are cut.
void write_cause(Packet& packet, const Cause& cause);
// Requires kind cause.
Cause cause_of(const Packet& packet);

class Channel {
 public:
  enum class Event {
    packet,
    nothing,    // none now
    end,        // the peer's side is closed
    no_room,    // a packet's file descriptors were lost because this process may have no more
    malformed,  // what came is no packet
    error,      // the socket broke: error()
  };

  Channel() = default;
  explicit Channel(UniqueFd fd) : fd_(std::move(fd)) { keep_from_children(fd_.get()); }

  int fd() const { return fd_.get(); }
  explicit operator bool() const { return static_cast<bool>(fd_); }

  // Sends now or, where the socket is full, later; file descriptors are duplicated if need be.
  void send(const Packet& packet, std::span<const int> fds = {});
  // Sends now or not at all.
  bool try_send(const Packet& packet, std::span<const int> fds = {});
  // Bytes that the peer has not read yet.
  std::size_t unread() const;
  // Closes this side after what waits; nothing may be sent any more. `last`: goes out behind what waits; stays as it is
  // until then. Needs no memory.
  void finish(const Packet* last = nullptr);
  // Sends what waits. False where the peer takes no more.
  bool flush();
  bool flushing() const { return !waiting_.empty() || last_ != nullptr; }

  // The next packet; after end, malformed or error there is none any more.
  Event receive(Packet& packet);
  int error() const { return error_; }

 private:
  struct Waiting {
    Packet packet;  // its fds are ours until they are sent
  };

  enum class Sent { yes, full, broken };
  Sent send_now(const Packet& packet, std::span<const int> fds);

  UniqueFd fd_;
  std::deque<Waiting> waiting_;
  const Packet* last_ = nullptr;  // behind what waits
  bool finishing_ = false;
  bool broken_ = false;  // nobody takes packets any more
  int error_ = 0;
};

}  // namespace hocket::shm
