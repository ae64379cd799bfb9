#include "transports/shm/window_opening.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace hocket::shm {
namespace {

// Between two questions whether it is to go on: only then is it heard what is said over other transports.
constexpr std::chrono::milliseconds between_questions{10};
// How long after the deadline a member that does not see who is missing leaves it to others to say so.
constexpr std::chrono::seconds others_first{1};

Status timeout(Rank rank, Rank missing) {
  return Status(Cause{.code = Code::timeout,
                      .message = fmt::format("rank {} waited in vain for rank {} to open a window: see whether its "
                                             "process runs",
                                             rank, missing),
                      .rank = rank,
                      .peer = missing});
}

void sleep(Transport& transport, std::vector<pollfd>& interests, Deadline until) {
  interests.clear();
  if (!transport.arm(interests)) return;
  if (const auto next = transport.next_deadline()) until = earlier(until, *next);
  ::poll(interests.data(), interests.size(), until.remaining_ms());
  transport.disarm();
}

}  // namespace

ShmOpening::ShmOpening(std::unique_ptr<ShmWindow> window, std::vector<ShmLink*> links, Status unfit)
    : window_(std::move(window)), links_(std::move(links)), unfit_(std::move(unfit)) {
  window_->attach();
}

bool ShmOpening::all_connected() const {
  return std::ranges::all_of(links_, [](const ShmLink* link) { return link->up(); });
}

bool ShmOpening::needs(Rank rank) const {
  const auto member = window_ != nullptr ? window_->member_of(rank) : std::nullopt;
  return member && (!begun_ || window_->handshake().needs(*member));
}

// How the link of a member has ended that is needed yet; ok: none has.
Status ShmOpening::lost_member() const {
  for (const ShmLink* const link : links_) {
    if (Status ended = link->ended_with(); !ended.ok() && needs(link->peer())) return ended;
  }
  return {};
}

// What this member or another one cannot do.
Status ShmOpening::go_on() {
  WindowHandshake& handshake = window_->handshake();
  const Status& refusal = handshake.refusal();
  // Who hears that a member cannot take part passes it on, so its neighbours are to be connected first, too.
  const bool needs_neighbours = refusal.ok() || refusal.code() == Code::out_of_resources;
  if (!begun_ && needs_neighbours && !all_connected()) return {};
  if (!refusal.ok()) return refusal;
  if (!begun_) {
    begun_ = true;
    if (!unfit_.ok()) return unfit_;
    if (Status begun = handshake.begin(); !begun.ok()) return begun;
  }
  return handshake.advance();
}

Result<std::unique_ptr<Window>> ShmOpening::advance() {
  if (Status gone_on = go_on(); !gone_on.ok()) {
    refused_ = true;
    return give_up(gone_on);
  }
  if (window_->handshake().opened()) return std::unique_ptr<Window>(std::move(window_));
  if (Status lost = lost_member(); !lost.ok()) return give_up(lost);
  return std::unique_ptr<Window>();
}

Result<std::unique_ptr<Window>> wait_for(WindowOpening& opening, Rank rank, Transport& transport,
                                         const TransportListener& listener, Deadline deadline) {
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
    auto window = opening.advance();
    if (!window.ok() || *window != nullptr) return window;
    if (!given_up.ok()) return opening.give_up(given_up);
    if (deadline.passed()) {
      if (!last) last = Deadline::after(others_first);
      const auto missing = opening.missing();
      if (missing.certain || last->passed()) return opening.give_up(timeout(rank, missing.rank));
    }
    sleep(transport, interests, deadline.passed() ? question : earlier(question, deadline));
  }
}

}  // namespace hocket::shm
