#include "transports/shm/window_opening.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace hocket::shm {
namespace {

struct Opening {
  ShmWindow& window;
  std::span<ShmLink* const> links;
  Transport& transport;
  Deadline deadline;

  bool all_connected() const {
    return std::ranges::all_of(links, [](const ShmLink* link) { return link == nullptr || link->up(); });
  }

  // How a member's link has ended that was needed yet; ok: none has. Who has confirmed may have gone on, and left.
  Status lost_member() const {
    for (std::size_t i = 0; i < links.size(); ++i) {
      if (links[i] == nullptr || window.handshake().confirmed(i)) continue;
      if (Status ended = links[i]->ended_with(); !ended.ok()) return ended;
    }
    return {};
  }

  Status timeout() const {
    const Rank rank = window.rank_of(window.self()), missing = window.handshake().missing();
    return Status(Cause{.code = Code::timeout,
                        .message = fmt::format("rank {} waited in vain for rank {} to open a window: see whether its "
                                               "process runs",
                                               rank, missing),
                        .rank = rank,
                        .peer = missing});
  }

  void sleep(std::vector<pollfd>& interests) const {
    interests.clear();
    if (!transport.arm(interests)) return;
    const auto next = transport.next_deadline();
    ::poll(interests.data(), interests.size(), (next ? earlier(*next, deadline) : deadline).remaining_ms());
    transport.disarm();
  }

  // Makes progress until `done`, or a member fails or refuses.
  Status await(const std::function<bool()>& done) const {
    std::vector<pollfd> interests;
    while (true) {
      transport.progress();
      if (!window.handshake().refusal().ok()) return window.handshake().refusal();
      if (done()) return {};
      if (Status lost = lost_member(); !lost.ok()) return lost;
      if (deadline.passed()) return timeout();
      sleep(interests);
    }
  }

  Status run() const {
    WindowHandshake& handshake = window.handshake();
    Status status = await([&] { return all_connected(); });
    if (status.ok()) status = handshake.publish_own();
    if (status.ok()) status = await([&] { return handshake.all_published(); });
    if (status.ok()) status = handshake.confirm();
    if (status.ok()) status = await([&] { return handshake.all_confirmed(); });
    return status;
  }
};

}  // namespace

Result<std::unique_ptr<Window>> open(std::unique_ptr<ShmWindow> window, std::span<ShmLink* const> links,
                                     Transport& transport, Deadline deadline) {
  window->attach();
  const Status status = Opening{*window, links, transport, deadline}.run();
  if (!status.ok()) return window->handshake().give_up(status);
  return std::unique_ptr<Window>(std::move(window));
}

}  // namespace hocket::shm
