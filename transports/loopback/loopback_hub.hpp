// Loopback: ranks that are threads (or just objects) of one process. Also the executable specification of Link, simple
// on purpose, and the place where tests inject faults.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/spi/transport.hpp"

namespace hocket {

namespace loopback {
struct Mailbox;
struct Wire;
}  // namespace loopback

// What shall go wrong with the messages of one direction.
struct LoopbackFault {
  Rank from = no_rank;
  Rank to = no_rank;
  unsigned delay = 0;                   // a message is seen only after that many further progress() calls of `to`
  std::uint64_t messages = UINT64_MAX;  // the link is lost when so many messages have been received
  bool mid_message = false;             // … and half of the next one
};

// The meeting place of the ranks. Its maker shares it with its transports; any thread may call it.
class LoopbackHub : public std::enable_shared_from_this<LoopbackHub> {
 public:
  explicit LoopbackHub(Rank size, std::vector<LoopbackFault> faults = {});
  ~LoopbackHub();
  // This process's hub of a group, the same for all that ask; it lasts while somebody holds it. `size`: of the hub,
  // where it is made.
  static std::shared_ptr<LoopbackHub> of_group(std::uint64_t group, Rank size);
  LoopbackHub(const LoopbackHub&) = delete;
  LoopbackHub& operator=(const LoopbackHub&) = delete;

  // The transport of config.rank; once for each rank. The hub must be held by a shared_ptr. Destroying a transport
  // without shut_down() looks to its peers as if that rank had died. Code::invalid_argument where the rank is none of
  // this hub's, the size differs, or the rank has a transport already; out_of_resources where no descriptor is left.
  Result<std::unique_ptr<Transport>> make_transport(const TransportConfig& config);

  Rank size() const { return size_; }
  // What all addresses on this hub begin with, and those of no other, in this process or another.
  const std::string& name() const { return name_; }

  // For the transports of this hub.
  loopback::Mailbox& mailbox(Rank rank) { return *mailboxes_[static_cast<std::size_t>(rank)]; }
  loopback::Wire& wire(Rank a, Rank b);
  LoopbackFault fault(Rank from, Rank to) const;

 private:
  const Rank size_;
  const std::string name_;
  const std::vector<LoopbackFault> faults_;
  std::vector<std::unique_ptr<loopback::Mailbox>> mailboxes_;
  std::vector<std::unique_ptr<loopback::Wire>> wires_;
};

}  // namespace hocket
