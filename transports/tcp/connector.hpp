// Connector: makes the links of a transport and sees to it that they come to stand. It accepts the ranks that dial this
// one, dials the others, and gives up on those that never come.
#pragma once

#include <poll.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/base/fd.hpp"
#include "src/spi/transport.hpp"
#include "transports/common/accept_guard.hpp"
#include "transports/common/expected_link.hpp"
#include "transports/tcp/handshake.hpp"
#include "transports/tcp/settings.hpp"
#include "transports/tcp/tcp_link.hpp"

namespace hocket::tcp {

class Connector {
 public:
  // All three references outlive it.
  Connector(const TransportConfig& config, const Settings& settings, LinkContext& context,
            std::vector<UniqueFd> listeners);

  // All that exist, connected or not.
  const std::vector<TcpLink*>& links() const { return links_; }
  // Null: none has been made.
  TcpLink* find(Rank peer) const { return by_rank_[static_cast<std::size_t>(peer)].get(); }
  // Whether the link stands, has failed, or is awaited already.
  bool has_begun(const TcpLink& link) const;
  // The link to a rank, made if need be with so many streams, and awaited until the deadline, if there is one.
  // `endpoints`: where the peer listens.
  TcpLink& link_to(Rank peer, std::uint16_t streams, std::vector<Endpoint> endpoints, std::optional<Deadline> deadline);
  bool connected(Rank peer) const;
  // From now on links end with `why` as soon as they stand.
  void shut_down(const Status& why) { shut_down_with_ = why; }

  // Appends the listening sockets, unless no descriptor is left to accept with.
  void append_listeners(std::vector<pollfd>& interests) const;
  // Accepts what waits there.
  void accept();
  // Accepts nobody from now on.
  void close_door();
  // Goes on with all that is under way; returns how much of it is settled.
  std::size_t step();
  // Whether a link is under way. Newcomers who have not said who they are do not count: they may be strangers, and are
  // looked at now and then, and by who sleeps.
  bool unsettled() const { return !expected_.empty(); }
  // Whether a peer that has been greeted may count this rank as connected already.
  bool has_greeted() const;
  // Whether a link has come to stand since the last call.
  bool take_news() { return std::exchange(news_, false); }

  // Whether step() has begun all that is to be waited for.
  bool all_started() const;
  // What to poll(2) for, and when step() must be called even so.
  void append_interests(std::vector<pollfd>& interests) const;
  std::optional<Deadline> next_deadline() const;
  // Grows whenever there is something else to poll for.
  std::uint64_t watch_epoch() const { return watch_epoch_; }

 private:
  // A link, or one stream of it; without a dial the peer dials, all streams.
  struct Expected : ExpectedLink<TcpLink, Dial> {
    std::uint16_t stream;
  };

  TcpLink& make_link(Rank peer, std::uint16_t streams);
  void attach(TcpLink& link, std::uint16_t stream, Socket socket, std::string address);
  void dial_more(const Expected& first);
  void accept_at(int listener);
  std::size_t greetings_max() const;
  std::size_t step_greetings();
  std::size_t step_expected();
  bool step(Expected& expected);
  std::string admit(Greeting& greeting);
  void refuse(const Greeting& greeting, const std::string& why);

  const TransportConfig& config_;
  const Settings& settings_;
  LinkContext& context_;
  std::vector<UniqueFd> listeners_;
  AcceptGuard accept_guard_;
  std::vector<std::unique_ptr<TcpLink>> by_rank_;
  std::vector<TcpLink*> links_;
  std::vector<Expected> expected_;
  std::vector<Expected> more_;  // that will be expected when the first stream of their link stands
  std::vector<Greeting> greetings_;
  std::optional<Status> shut_down_with_;
  bool news_ = false;
  std::uint64_t watch_epoch_ = 0;
};

}  // namespace hocket::tcp
