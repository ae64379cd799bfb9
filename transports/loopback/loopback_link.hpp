// One rank's end of a wire.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "src/spi/transport.hpp"
#include "transports/loopback/loopback_hub.hpp"
#include "transports/loopback/loopback_wire.hpp"

namespace hocket::loopback {

class LoopbackLink final : public Link {
 public:
  LoopbackLink(LoopbackHub& hub, const TransportConfig& config, Rank peer, std::optional<Deadline> deadline);

  void send(const Tag& tag, ConstBuffer from, Completion& completion) override;
  void recv(const Tag& tag, Buffer to, Completion& completion) override;
  void recv_reduce(const Tag& tag, ConstBuffer mine, Buffer to, const Reduction& reduction,
                   Completion& completion) override;
  std::optional<Tag> probe() override;
  void tell_waiting(const Waiting& what) override;
  void close(const Status& why) override;
  bool may_speak() const override;

  std::size_t advance();
  // Whether advance() would do something or, for one who listens, probe() would find what it has not told yet.
  bool ready(bool listening);
  // Both sides have called connect(), and nothing has ended.
  bool up();
  // When a link that is not connected yet must be given up.
  std::optional<Deadline> deadline();

 private:
  struct Posted {
    Tag tag;
    Buffer to;
    const std::byte* mine = nullptr;
    Reduction reduction{};
    Completion* completion = nullptr;
  };
  struct Sent {
    std::uint64_t number;  // of the parcel, counted from 1
    Completion* completion;
  };
  // Completions are told after the wire's lock is released.
  using Done = std::vector<std::pair<Completion*, Status>>;

  void post(const Posted& posted);
  void collect_taken(Done& done);
  void take_parcels(Done& done);
  void take_parcel(const Parcel& parcel, const Posted& posted);
  std::size_t hear_last_word();
  bool cut(const Parcel* next);
  void break_both(const Status& as_we_see_it, const Status& as_peer_sees_it);
  void end(const Status& why);
  void abandon(const Status& sends, const Status& receives);
  bool keep_sent();
  Status seen_here(const Status& why) const;
  Status lost(Rank seen_by, Rank who) const;
  bool both_opened() const { return out_.opened && in_.opened; }

  LoopbackHub& hub_;
  TransportListener* listener_;
  Rank rank_, peer_;
  std::optional<Deadline> deadline_;
  LoopbackFault fault_;  // of what comes in
  Wire& wire_;
  Direction& out_;
  Direction& in_;
  Status& broken_here_;
  Status& broken_there_;
  const Status closed_, out_of_memory_;  // made beforehand
  std::deque<Sent> sent_;
  std::deque<Posted> posted_;
  std::optional<std::uint64_t> told_;  // how many parcels had been taken when the first one was told
  std::optional<Status> ended_with_;
  bool awaits_word_ = false;  // this side has closed the link with a failure; the peer has said nothing of its own yet
};

}  // namespace hocket::loopback
