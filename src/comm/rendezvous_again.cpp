// What a rendezvous says again to a store whose daemon was lost and has come back.
#include <condition_variable>
#include <mutex>

#include "src/comm/rendezvous.hpp"

namespace hocket::comm {
namespace {

using namespace std::chrono_literals;

constexpr auto look_every = 200ms;    // at the connection, while ranks connect to each other
constexpr auto one_attempt = 1000ms;  // to say it again then

}  // namespace

Status Rendezvous::say_again() {
  if (Status connected = store_.reconnect(deadline_, stop_); !connected.ok()) return connected;
  // Before the epoch: whoever finds that finds these.
  for (const auto& [key, value] : said_) {
    const auto found = store_.compare_and_set(key, std::nullopt, value, deadline_);
    if (!found.ok()) return found.status();
    if (*found && *found != value) return begun_anew();  // others did before, without this rank
  }
  if (Status epoch = say_epoch_again(); !epoch.ok()) return epoch;
  const auto place = places_.take(epoch_.number, options_.rank, deadline_);
  if (!place.ok()) return place.status();
  return place->holder == Places::Holder::this_creation ? Status() : taken_by(*place);
}

Status Rendezvous::say_epoch_again() {
  for (;;) {
    const auto current = current_epoch();
    if (!current.ok()) return current.status();
    if (current->group == epoch_.group) return {};
    // What the daemon held a while ago may be an older epoch, without its rank 0. A living rank 0 has begun anew.
    if (current->number >= epoch_.number) return begun_anew();
    if (current->number > 0) {
      const auto leader = places_.look(current->number, 0, deadline_);
      if (!leader.ok()) return leader.status();
      if (leader->holder != Places::Holder::nobody) return begun_anew();
      // Some rank may have joined it meanwhile, or wait for the one after it, which there will not be.
      for (const auto& [name, value] : {std::pair(key(current->number, "verdict"), Verdict::superseded()),
                                        std::pair(places_.key(current->number + 1, 0), std::string())}) {
        const auto found = store_.compare_and_set(name, std::nullopt, value, deadline_);
        if (!found.ok()) return found.status();
      }
    }
    const std::string before = current->serialise();
    const auto expected = current->number > 0 ? std::optional<std::string_view>(before) : std::nullopt;
    const auto found = store_.compare_and_set(epoch_key(), expected, epoch_.serialise(), deadline_);
    if (!found.ok()) return found.status();
  }
}

// This rank has all that it needs. Others may have been cut off before they had it, and read it once it is there again.
void Rendezvous::keep_saying(const std::string& card, const std::stop_token& stop) const {
  std::mutex mutex;
  std::condition_variable_any nothing;
  for (std::unique_lock lock(mutex); !stop.stop_requested() && !deadline_.passed();) {
    nothing.wait_for(lock, stop, look_every, [] { return false; });
    if (stop.stop_requested() || store_.connection().ok()) continue;
    Rendezvous again(store_, options_, earlier(deadline_, Deadline::after(one_attempt)), stop, places_.token(),
                     nullptr);
    again.epoch_ = epoch_;
    again.said_ = said_;
    if (again.say_again().ok()) (void)again.store_.claim(card_key(options_.rank), std::nullopt, card, again.deadline_);
  }
}

}  // namespace hocket::comm
