#include "transports/shm/window_opening.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <vector>

namespace hocket::shm {
namespace {

// Between two questions whether it is to go on: only then is it heard what is said over other transports.
constexpr std::chrono::milliseconds between_questions{10};
// How long after the deadline a member that does not see who is missing leaves it to others to say so.
constexpr std::chrono::seconds others_first{1};

struct Opening {
  ShmWindow& window;
  std::span<ShmLink* const> links;  // of members that are connected before anything else
  Transport& transport;
  const TransportListener& listener;
  Deadline deadline;
  bool begun = false;  // all have been connected: who is through with the handshake may leave

  bool all_connected() const {
    return std::ranges::all_of(links, [](const ShmLink* link) { return link->up(); });
  }

  // How the link of a member has ended that is needed yet; ok: none has.
  Status lost_member() const {
    for (std::uint32_t member = 0; member < window.size(); ++member) {
      const auto is_of_member = [&](const ShmLink* link) { return link->peer() == window.rank_of(member); };
      const auto link = std::ranges::find_if(links, is_of_member);
      if (link == links.end() || (begun && !window.handshake().needs(member))) continue;
      if (Status ended = (*link)->ended_with(); !ended.ok()) return ended;
    }
    return {};
  }

  Status timeout(Rank missing) const {
    const Rank rank = window.rank_of(window.self());
    return Status(Cause{.code = Code::timeout,
                        .message = fmt::format("rank {} waited in vain for rank {} to open a window: see whether its "
                                               "process runs",
                                               rank, missing),
                        .rank = rank,
                        .peer = missing});
  }

  void sleep(std::vector<pollfd>& interests, Deadline question) const {
    interests.clear();
    if (!transport.arm(interests)) return;
    Deadline until = deadline.passed() ? question : earlier(question, deadline);
    if (const auto next = transport.next_deadline()) until = earlier(until, *next);
    ::poll(interests.data(), interests.size(), until.remaining_ms());
    transport.disarm();
  }

  // Makes progress until `done`, or a member fails or refuses, or it is given up.
  Status await(const std::function<bool()>& done) const {
    std::vector<pollfd> interests;
    std::optional<Deadline> last;
    Deadline question = Deadline::after({});
    while (true) {
      Status given_up;
      if (question.passed()) {
        given_up = listener.given_up();  // what comes while it is asked is looked at below, before any sleep
        question = Deadline::after(between_questions);
      }
      transport.progress();
      if (!window.handshake().refusal().ok()) return window.handshake().refusal();
      if (done()) return {};
      if (Status lost = lost_member(); !lost.ok()) return lost;
      if (!given_up.ok()) return given_up;
      if (deadline.passed()) {
        if (!last) last = Deadline::after(others_first);
        const auto missing = window.handshake().missing();
        if (missing.certain || last->passed()) return timeout(missing.rank);
      }
      sleep(interests, question);
    }
  }

  Status run() {
    WindowHandshake& handshake = window.handshake();
    Status status = await([&] { return all_connected(); });
    begun = status.ok();
    if (begun) status = handshake.begin();
    Status advanced;
    const auto ended = [&] {
      advanced = handshake.advance();
      return !advanced.ok() || handshake.opened();
    };
    if (status.ok()) status = await(ended);
    return status.ok() ? advanced : status;
  }
};

}  // namespace

Result<std::unique_ptr<Window>> open(std::unique_ptr<ShmWindow> window, std::span<ShmLink* const> links,
                                     Transport& transport, const TransportListener& listener, Deadline deadline) {
  window->attach();
  const Status status = Opening{*window, links, transport, listener, deadline}.run();
  if (!status.ok()) return window->handshake().give_up(status);
  return std::unique_ptr<Window>(std::move(window));
}

}  // namespace hocket::shm
