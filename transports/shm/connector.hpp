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
#include "transports/shm/handshake.hpp"
#include "transports/shm/shm_link.hpp"

namespace hocket::shm {

class Connector {
 public:
  // `config` and `context` outlive it. `wake_event`: this process's, which peers are given.
  Connector(const TransportConfig& config, const LinkContext& context, UniqueFd listener, int wake_event);

  // All that exist, connected or not.
  const std::vector<ShmLink*>& links() const { return links_; }
  // Null: nobody has asked for this link.
  ShmLink* find(Rank peer) const { return by_rank_[static_cast<std::size_t>(peer)].get(); }
  // The link to a rank, made at the first call; it is awaited until the deadline, if there is one.
  ShmLink& link_to(Rank peer, std::optional<Deadline> deadline);
  bool connected(Rank peer) const;
  // From now on links end with `why` as soon as they stand.
  void shut_down(const Status& why) { shut_down_with_ = why; }

  // The listening socket, or none where no descriptor is left to accept with.
  pollfd listening() const { return {accept_guard_.open() ? listener_.get() : -1, POLLIN, 0}; }
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

  // What to poll(2) for, and when step() must be called even so.
  void append_interests(std::vector<pollfd>& interests) const;
  std::optional<Deadline> next_deadline() const;
  // Grows whenever there is something else to poll for.
  std::uint64_t watch_epoch() const { return watch_epoch_; }

 private:
  using Expected = ExpectedLink<ShmLink, Dial>;

  ShmLink& make_link(Rank peer);
  void attach(ShmLink& link, Connection connection);
  std::size_t greetings_max() const;
  std::size_t step_greetings();
  std::size_t step_expected();
  bool step(Expected& expected);
  std::string admit(Greeting& greeting);
  void refuse(const Greeting& greeting, const std::string& why);

  const TransportConfig& config_;
  const LinkContext& context_;
  UniqueFd listener_;
  int wake_event_;
  AcceptGuard accept_guard_;
  std::vector<std::unique_ptr<ShmLink>> by_rank_;
  std::vector<ShmLink*> links_;
  std::vector<Expected> expected_;
  std::vector<Greeting> greetings_;
  std::optional<Status> shut_down_with_;
  bool news_ = false;
  std::uint64_t watch_epoch_ = 0;
};

}  // namespace hocket::shm
