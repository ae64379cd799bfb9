// The seam between what moves and how it moves. A transport reaches peers; a link is an ordered, reliable lane to one
// peer.
//
// Thread rule: all functions of one transport and of its links are called by one thread at a time (the one that
// progresses; the caller holds a lock). No function blocks, except where it says so.
//
// Life of a message: the executor calls send() or recv(); the transport calls completion.done() exactly once for each,
// during that call or during a later progress(), also when the link breaks (then with the status that broke it).
// Buffers must stay valid until then. done() may not call back into the transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/spi/buffer.hpp"
#include "src/spi/event_source.hpp"
#include "src/spi/reduction.hpp"
#include "src/spi/status.hpp"
#include "src/spi/types.hpp"
#include "src/spi/window.hpp"

namespace hocket {

class RegionTable;

// The call that a message belongs to, in clear, so that a mismatch can name both sides. Travels in every message.
struct Signature {
  Collective collective = Collective::barrier;
  DataType dtype = DataType::uint8;
  ReduceOp op = ReduceOp::sum;  // sum where nothing is reduced
  // In the lower six bits the algorithm, so that ranks which chose differently find out: number_of() of the catalog's,
  // or direct_algorithm. In the upper two how floats may travel. Together, because headers are full.
  std::uint8_t algorithm = 0;
  // Of allgather_v and reduce_scatter_v: a digest of all counts, not negative. Of a call on a list of tensors:
  // list_root
  // + a digest of the list and of the root.
  Rank root = 0;
  // Elements, as the C API counts them; of allgather_v and reduce_scatter_v: of all blocks. Of scatter_v, gather_v and
  // alltoall_v: of the block that a message brings, since only its two ends know it, and unknown_count elsewhere.
  std::uint64_t count = 0;
  std::uint16_t element_bytes = 0;  // where elements are opaque; else 0
  std::uint8_t reserved[6] = {};

  static constexpr std::uint64_t unknown_count = UINT64_MAX;
  static constexpr Rank list_root = 1 << 30;  // no communicator has as many ranks
  static constexpr unsigned algorithm_bits = 6;
  static constexpr std::uint8_t direct_algorithm = 63;  // over memory that all ranks share; none of the catalog's

  WireFormat wire() const { return static_cast<WireFormat>(algorithm >> algorithm_bits); }

  friend bool operator==(const Signature&, const Signature&) = default;
};

// Splits speak through allgathers; these name no root, so that they never match an allgather of the caller's.
inline bool is_split(const Signature& call) {
  return call.collective == Collective::allgather && call.root == no_rank;
}

inline bool is_list(const Signature& call) {
  return call.root >= Signature::list_root && !info_of(call.collective).has_unequal_blocks();
}

// Bytes of one element.
constexpr std::size_t size_of(const Signature& call) {
  return size_of(call.dtype, call.element_bytes);
}

// "float32", or "opaque elements of 24 bytes".
std::string describe_type(DataType dtype, std::size_t element_bytes);
// "allreduce of 1024 float32, sum" and so on, for messages.
std::string describe(const Signature& signature);
// The same by the name under which its receiver knows it: both ends of a message have the signature of a send.
Signature as_receiver_calls(Signature signature);

struct Tag {
  std::uint32_t communicator = 0;
  std::uint32_t sequence = 0;  // of the operation, modulo 2^32; for send and recv: counted per peer and direction
  Signature call;

  friend bool operator==(const Tag&, const Tag&) = default;
};

// Called once when the operation on a link is over. Owned by the caller; no allocation.
struct Completion {
  void (*on_done)(Completion& self, const Status& status) = nullptr;

  void done(const Status& status) { on_done(*this, status); }
};

class Link {
 public:
  virtual ~Link() = default;

  // Messages arrive in the order of send() calls and match recv() calls in their order. An arriving message whose tag
  // or bytes differ from its receive's breaks the link on both sides with Code::mismatch, naming both calls. Bytes may
  // be 0.
  virtual void send(const Tag& tag, ConstBuffer from, Completion& completion) = 0;
  virtual void recv(const Tag& tag, Buffer to, Completion& completion) = 0;
  // to = mine ∘ incoming; mine.bytes == to.bytes, a multiple of reduction.element_bytes; `mine` may be `to`.
  virtual void recv_reduce(const Tag& tag, ConstBuffer mine, Buffer to, const Reduction& reduction,
                           Completion& completion) = 0;
  // The tag of the next message, if that has come and no receive is posted. For who receives from any peer: only while
  // the transport listens.
  virtual std::optional<Tag> probe() = 0;
  // Tells the peer that this rank has waited for a while in the operation of `tag`, so that a peer that is in another
  // operation finds out, and one that waits for this rank learns that it is alive. A transport may leave it out.
  virtual void tell_waiting(const Tag& tag) { (void)tag; }
  // With an ok status: says goodbye after what was sent before. Else tells the peer `why`, ends all that is pending
  // with it, and takes no more. Never blocks; later calls of send and recv complete at once with the status that closed
  // it.
  virtual void close(const Status& why) = 0;
};

// Told by a transport, inside progress() or any call above it, once for each peer that is lost.
class TransportListener {
 public:
  virtual ~TransportListener() = default;
  // The peer is gone: it died (Code::peer_lost), spoke nonsense (protocol_error), disagreed (mismatch), or passed on
  // why its communicator broke: then `why` is the first cause as that peer knew it, with cause().rank set.
  virtual void peer_failed(Rank peer, const Status& why) = 0;
  // The peer said goodbye in good order. Only an error for operations that still need it.
  virtual void peer_left(Rank peer) = 0;
  // The peer told that it waits for this rank (Link::tell_waiting).
  virtual void peer_waits(Rank peer, const Tag& tag) {
    (void)peer;
    (void)tag;
  }
  // What messages call the communicator whose number a tag to or from this peer carries.
  virtual std::string describe_communicator(std::uint32_t number, Rank peer) const {
    (void)peer;
    return "communicator number " + std::to_string(number);
  }
};

// Opaque bytes that another process's transport of the same name can connect to; at most 512.
using Address = std::string;

class Transport : public EventSource {
 public:
  // What environment variables and messages call it: "tcp".
  virtual std::string_view name() const = 0;
  // Whether open_window() can succeed: the transport maps peers' memory.
  virtual bool has_window() const { return false; }
  // Where peers reach this transport. Constant.
  virtual const Address& address() const = 0;
  // Whether `connect` to this address could work; symmetric between the two sides, so that both choose alike.
  virtual bool reaches(const Address& address) const = 0;
  // The link to a peer, made at the first call. Both sides call this; which of them dials is the transport's business.
  // Returns at once: what is sent or received meanwhile waits for the connection, until `deadline` breaks it
  // (peer_failed with Code::timeout, or Code::peer_lost where nobody listens there any more). No deadline: nobody needs
  // the link yet. Then it may stay unconnected, and a peer that cannot be reached counts as one that has left
  // (peer_left): if it died, those who were connected to it know.
  virtual Result<Link*> connect(Rank peer, const Address& address, std::optional<Deadline> deadline) = 0;
  // Whether the link to this peer is up (connected, not failed).
  virtual bool connected(Rank peer) const = 0;
  // Memory that all `members` share (ranks in ascending order, this one among them). Every member calls this with the
  // same list, and all get a window or none does (unless one dies, or its deadline passes). Blocks until `deadline` at
  // most; connects the members where they are not connected yet, so that connect() then returns their links at once.
  // The window must be destroyed before this transport. Code::unsupported where has_window() is false;
  // Code::out_of_resources names the member and the limit, Code::mismatch those whose lists differ.
  virtual Result<std::unique_ptr<Window>> open_window(std::span<const Rank> members, Deadline deadline) {
    (void)members;
    (void)deadline;
    return Status(Code::unsupported, "this transport has no memory that ranks could share");
  }

  // Closes all links with `why` and delivers what that means: goodbye or cause. May block until `deadline` so that
  // peers get the word; afterwards only destruction is allowed.
  virtual void shut_down(const Status& why, Deadline deadline) = 0;
};

// What a transport is made from.
struct TransportConfig {
  Rank rank = 0;
  Rank size = 1;
  std::uint64_t group = 0;  // unique id of the group of ranks; a connection from another group is refused
  TransportListener* listener = nullptr;
  const RegionTable* regions = nullptr;  // memory that a window can show to other members; null: none
  int streams = 0;  // connections to each peer, unless the environment says; 0: the transport's choice
};

}  // namespace hocket
