// The seam between what moves and how it moves. A transport reaches peers; a link is an ordered, reliable lane to one
// peer.
//
// Thread rule: all functions of one transport and of its links are called by one thread at a time (the one that
// progresses; the caller holds a lock), but for Link::wake_receiver(). No function blocks, except where it says so.
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
#include "src/spi/signature.hpp"
#include "src/spi/status.hpp"
#include "src/spi/window.hpp"
#include "src/spi/window_opening.hpp"

namespace hocket {

class RegionTable;
class TlsIdentity;

struct Tag {
  std::uint32_t communicator = 0;
  std::uint32_t sequence = 0;  // of the operation, modulo 2^32; for send and recv: counted per peer and direction
  Signature call;

  friend bool operator==(const Tag&, const Tag&) = default;
};
static_assert(sizeof(Tag) == 40 && std::has_unique_object_representations_v<Tag>);

// What a rank that waits tells a peer. Ranks that wait for each other make a chain; at its end is the rank for which
// all of them wait in the end.
struct Waiting {
  Tag tag;                 // the operation in which it waits
  Rank missing = no_rank;  // the rank at the end, as far as it knows; itself: it waits no more
  Rank witness = no_rank;  // the lowest rank that waits for that one itself, as far as it knows

  friend bool operator==(const Waiting&, const Waiting&) = default;
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
  // to = mine ∘ incoming; mine.bytes == to.bytes == those of the message, a multiple of reduction.element_bytes; `mine`
  // may be `to`. Where the reduction says that elements of one of them are wider, it takes as much more room.
  virtual void recv_reduce(const Tag& tag, ConstBuffer mine, Buffer to, const Reduction& reduction,
                           Completion& completion) = 0;
  // The same of a message in the host's memory that can be handed over, or has come, without waiting for anybody: then
  // it is over. False: nothing has happened, and send() or recv() knows why. A link may leave them out, as it does for
  // messages of more than now_max() bytes. They throw nothing. Where send_now() is true, wake_receiver() is due.
  virtual bool send_now(const Tag& tag, std::span<const std::byte> from) noexcept {
    (void)tag;
    (void)from;
    return false;
  }
  virtual bool recv_now(const Tag& tag, std::span<std::byte> to) noexcept {
    (void)tag;
    (void)to;
    return false;
  }
  virtual std::size_t now_max() const { return 0; }
  // Wakes the peer, if it sleeps, for what send_now() has handed over before a full fence that the calling thread has
  // passed: on x86, any locked instruction. Any thread, as long as the transport lives, also while another one calls
  // any other function.
  virtual void wake_receiver() {}
  // The tag of the next message, if that has come and no receive is posted. For receives from any peer: only while
  // the transport listens.
  virtual std::optional<Tag> probe() = 0;
  // Tells the peer that this rank has waited for a while, so that a peer that is in another operation finds out, and
  // one that waits for this rank learns that it is alive, and whose fault it is. A transport may leave it out.
  virtual void tell_waiting(const Waiting& what) { (void)what; }
  // While this rank waits itself: whether to hear what the peer tells of its waiting (TransportListener::peer_waits)
  // also where messages come first that nobody receives yet. Off at first.
  virtual void listen_behind_messages(bool on) { (void)on; }
  // With an ok status: says goodbye after what was sent before. Else tells the peer `why`, ends all that is pending
  // with it, takes no more, and listens for what the peer says last (TransportListener::peer_broke). Never blocks;
  // later calls of send and recv complete at once with the status that closed it.
  virtual void close(const Status& why) = 0;
  // Whether the peer may still say why its communicator broke: the connection stands, and has brought neither that nor
  // a goodbye nor its end.
  virtual bool may_speak() const { return false; }
};

// Told by a transport, inside progress() or any call above it, once for each peer that is lost.
class TransportListener {
 public:
  virtual ~TransportListener() = default;
  // The peer is gone: it died (Code::peer_lost), spoke nonsense (protocol_error), disagreed (mismatch), or passed on
  // why its communicator broke: then `why` is the first cause as that peer knew it, with cause().rank set.
  virtual void peer_failed(Rank peer, const Status& why) = 0;
  // The last word of a peer on a link that this side had closed with a failure before: why the peer's communicator
  // broke, as in peer_failed(). A peer that has heard this side's word first says nothing.
  virtual void peer_broke(Rank peer, const Status& why) {
    (void)peer;
    (void)why;
  }
  // The peer said goodbye in good order. Only an error for operations that still need it.
  virtual void peer_left(Rank peer) = 0;
  // The peer told that it waits, or waits no more (Link::tell_waiting). Nothing of it is checked.
  virtual void peer_waits(Rank peer, const Waiting& what) {
    (void)peer;
    (void)what;
  }
  // Why what blocks (Transport::open_window) is to end before its deadline; ok: it is not. Asked by what blocks, every
  // 50 ms at least, on the thread that called it, outside progress() and between no arm() and its disarm(): all
  // transports make progress meanwhile, that one included.
  virtual Status given_up() const { return {}; }
  // What messages call the communicator whose number a tag to or from this peer carries.
  virtual std::string describe_communicator(std::uint32_t number, Rank peer) const {
    (void)peer;
    return "communicator number " + std::to_string(number);
  }
};

struct PlainMessages;

// Opaque bytes that another process's transport of the same name can connect to; at most 512.
using Address = std::string;

class Transport : public EventSource {
 public:
  // What environment variables and messages call it: "tcp".
  virtual std::string_view name() const = 0;
  // Whether open_window() can succeed: the transport maps peers' memory, that of all whose address equals its own.
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
  // Whether something between two processes may end their connection, as on a network.
  virtual bool others_end_connections() const { return false; }
  // Whether the process at that address may be alive, although a connection to it has ended without goodbye: where
  // others end connections, it is if its door is open. Blocks until the deadline at most.
  virtual bool may_live(const Address& address, Deadline deadline) const {
    (void)address;
    (void)deadline;
    return false;
  }
  // How many file descriptors a link takes.
  virtual int descriptors_per_link() const { return 0; }
  // Whether the link to this peer is up (connected, not failed).
  virtual bool connected(Rank peer) const = 0;
  // Memory that all `members` share, this rank among them; it numbers them as they stand here. Every member calls this
  // with the same list and number, which no other window of two of them has, and all get a window or none does (unless
  // one dies, or its deadline passes). Connects members that are not yet connected, until `deadline`: of many, those
  // that follow each other. `unfit`: why this member cannot take part; ok: it can. Several may be on their way at once.
  // The opening and the window must be destroyed before this transport. Code::unsupported where has_window() is false;
  // in the end Code::out_of_resources names the member and the limit, Code::mismatch those whose lists differ.
  virtual Result<std::unique_ptr<WindowOpening>> begin_window(std::uint32_t number, std::span<const Rank> members,
                                                              Deadline deadline, const Status& unfit) {
    (void)number;
    (void)members;
    (void)deadline;
    (void)unfit;
    return Status(Code::unsupported, "this transport has no memory that ranks could share");
  }
  // The same at once. Blocks until `deadline` or TransportListener::given_up().
  virtual Result<std::unique_ptr<Window>> open_window(std::uint32_t number, std::span<const Rank> members,
                                                      Deadline deadline) {
    (void)number;
    (void)members;
    (void)deadline;
    return Status(Code::unsupported, "this transport has no memory that ranks could share");
  }

  // From now on, messages to peers that can read this process's memory may stay there. Without this none does, nor over
  // transports that do not know how.
  virtual void leave_in_place(const PlainMessages& messages) { (void)messages; }

  // From now on, messages of so many bytes and more, which are copied to where their receives want them, may be stored
  // there past the caches. Without this none is.
  virtual void store_past_caches(std::size_t bytes_min) { (void)bytes_min; }

  // No peer will dial this rank from now on: lets nobody in any more. Links go on.
  virtual void close_door() {}

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
  // Encrypts connections through networks, and proves there who belongs to the job; null: nothing is encrypted. Read
  // while the transport is made.
  const TlsIdentity* tls = nullptr;
  std::string secret = {};  // that both ends of every connection prove to know; empty: they prove nothing
  bool warns = true;        // false: others over the same transports have said what does not work here
};

}  // namespace hocket
