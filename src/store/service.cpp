#include "src/store/service.hpp"

#include "src/store/keys.hpp"

namespace hocket::store {
namespace {

using wire::Operation;

Code present(const Dictionary::Value& value) {
  return value ? Code::ok : Code::not_found;
}

}  // namespace

std::size_t Service::Wait::cost() const {
  constexpr std::size_t upkeep_bytes = 256;
  const std::size_t of_key = 2 * key.size() + upkeep_bytes;
  if (!meeting) return of_key;
  return of_key + 2 * meeting->prefix.size() + meeting->complete.size() + meeting->wanted.size() * sizeof(Rank) +
         upkeep_bytes;
}

void Service::handle(ClientId client, const wire::Request& request) {
  const auto respond = [&](const auto& result, auto&& to_answer) {
    if (!result) return fail(client, request.id, result.status());
    to_answer(*result);
  };
  const std::size_t keys_before = dictionary_.size();
  switch (request.operation) {
    case Operation::set: return set(client, request);
    case Operation::get: return get(client, request);
    case Operation::peek:
      return respond(dictionary_.find(request.key),
                     [&](const Dictionary::Value& value) { answer_(client, request.id, present(value), value); });
    case Operation::add:
      respond(dictionary_.add(request.key, request.delta), [&](std::int64_t sum) {
        answer_(client, request.id, Code::ok, std::make_shared<const std::string>(wire::encode_sum(sum)));
      });
      return changed(request.key, keys_before);
    case Operation::compare_and_set:
    case Operation::claim: return swap(client, request);
    case Operation::remove:
      respond(dictionary_.remove(request.key),
              [&](bool removed) { answer_(client, request.id, removed ? Code::ok : Code::not_found, nullptr); });
      return changed(request.key, keys_before);
    case Operation::list: return list(client, request);
    case Operation::allgather: return allgather(client, request);
    case Operation::cancel: return unpark(client, request.id);
  }
}

void Service::leave(ClientId client) {
  if (const auto waits = waits_of_.extract(client)) {
    for (const auto& [request, wait] : waits.mapped()) forget(wait, {client, request});
  }
  const Claims::Left left = claims_.take(client);
  for (const std::string& key : left.keys) remove_key(key);
  if (ends_) return;
  for (const auto& [key, value] : left.bequests) inherit(key, value);
}

void Service::inherit(const std::string& key, const std::string& value) {
  const std::size_t keys_before = dictionary_.size();
  (void)dictionary_.compare_and_set(key, std::nullopt, value);
  changed(key, keys_before);
}

void Service::set(ClientId client, const wire::Request& request) {
  const std::size_t keys_before = dictionary_.size();
  const Status status = dictionary_.set(request.key, request.value);
  if (!status) return fail(client, request.id, status);
  answer_(client, request.id, Code::ok, nullptr);
  changed(request.key, keys_before);
}

void Service::swap(ClientId client, const wire::Request& request) {
  const std::size_t keys_before = dictionary_.size();
  const Bequest& bequest = request.bequest;
  if (claims_.bytes() + bequest.key.size() + bequest.value.size() > waiting_bytes_max_) {
    return fail(client, request.id, {Code::out_of_resources, "too much is bequeathed in the store"});
  }
  const auto before = dictionary_.compare_and_set(request.key, request.expected, request.value);
  if (!before) return fail(client, request.id, before.status());
  const bool swapped = *before ? request.expected && *request.expected == **before : !request.expected;
  if (swapped && request.operation == Operation::claim) claims_.assign(request.key, client, bequest);
  answer_(client, request.id, present(*before), *before);
  changed(request.key, keys_before);
}

void Service::get(ClientId client, const wire::Request& request) {
  const auto found = dictionary_.find(request.key);
  if (!found) return fail(client, request.id, found.status());
  if (*found) return answer_(client, request.id, Code::ok, *found);
  (void)park(client, request.id, {.key = std::string(request.key)});
}

void Service::allgather(ClientId client, const wire::Request& request) {
  const wire::Meeting& asked = request.meeting;
  const std::string key = std::string(request.key) + std::to_string(asked.member);
  const std::size_t keys_before = dictionary_.size();
  if (const Status status = dictionary_.set(key, request.value); !status) return fail(client, request.id, status);
  claims_.assign(key, client);
  changed(key, keys_before);
  Wait wait{.key = std::string(asked.outcome),
            .meeting = Meeting{.prefix = std::string(request.key),
                               .members = asked.members,
                               .complete = std::string(asked.complete),
                               .wanted = wire::parse_wanted(asked.wanted)}};
  const auto outcome = dictionary_.find(asked.outcome);
  if (!outcome) return fail(client, request.id, outcome.status());
  if (*outcome) return answer_meeting({client, request.id}, *wait.meeting, *outcome);
  if (park(client, request.id, std::move(wait))) complete_if_all_there(std::string(request.key));
}

bool Service::park(ClientId client, std::uint64_t request, Wait wait) {
  const std::size_t cost = wait.cost();
  if (parked_bytes_ + cost > waiting_bytes_max_) {
    fail(client, request, {Code::out_of_resources, "too many requests wait in the store"});
    return false;
  }
  auto& waits = waits_of_[client];
  if (waits.size() >= parked_by_client_max) {
    fail(client, request, {Code::out_of_resources, "this client has too many waiting requests in the store"});
    return false;
  }
  const auto [place, parked] = waits.emplace(request, std::move(wait));
  if (!parked) {
    fail(client, request, {Code::protocol_error, "two waiting requests of one client have the same id"});
    return false;
  }
  ++parked_;
  parked_bytes_ += cost;
  waiting_[place->second.key].insert({client, request});
  if (const auto& meeting = place->second.meeting) {
    auto counting = counting_.find(meeting->prefix);
    if (counting == counting_.end()) {
      const Counting first{.present = dictionary_.count(meeting->prefix), .waiters = {}};
      counting = counting_.emplace(meeting->prefix, first).first;
    }
    counting->second.waiters.insert({meeting->members, {client, request}});
  }
  return true;
}

void Service::unpark(ClientId client, std::uint64_t request) {
  const auto waits = waits_of_.find(client);
  if (waits == waits_of_.end() || !waits->second.contains(request)) return;  // answered meanwhile
  const Wait wait = take_wait({client, request});
  forget(wait, {client, request});
}

// Which has one that is parked.
Service::Wait Service::take_wait(Waiter waiter) {
  const auto waits = waits_of_.find(waiter.first);
  Wait wait = std::move(waits->second.extract(waiter.second).mapped());
  if (waits->second.empty()) waits_of_.erase(waits);
  return wait;
}

void Service::forget(const Wait& wait, Waiter waiter) {
  --parked_;
  parked_bytes_ -= wait.cost();
  if (const auto waiters = waiting_.find(wait.key); waiters != waiting_.end()) {
    waiters->second.erase(waiter);
    if (waiters->second.empty()) waiting_.erase(waiters);
  }
  if (!wait.meeting) return;
  const auto counting = counting_.find(wait.meeting->prefix);
  counting->second.waiters.erase({wait.meeting->members, waiter});
  if (counting->second.waiters.empty()) counting_.erase(counting);
}

void Service::answer_waiter(Waiter waiter, const Dictionary::Value& value) {
  const Wait wait = take_wait(waiter);
  forget(wait, waiter);
  if (wait.meeting) return answer_meeting(waiter, *wait.meeting, value);
  answer_(waiter.first, waiter.second, Code::ok, value);
}

void Service::answer_meeting(Waiter waiter, const Meeting& meeting, const Dictionary::Value& outcome) {
  Allgathered all{.outcome = *outcome, .values = {}};
  std::size_t bytes = 0;
  for (const Rank member : meeting.wanted) {
    const auto found = dictionary_.find(meeting.prefix + std::to_string(member));
    const bool there = found.ok() && *found;
    bytes += there ? (*found)->size() : 0;
    if (bytes > wire::gathered_bytes_max / 2) {
      return fail(waiter.first, waiter.second,
                  {Code::out_of_resources, "the values of so many members are too much for one answer; want fewer"});
    }
    all.values.push_back(there ? std::optional<std::string>(**found) : std::nullopt);
  }
  answer_(waiter.first, waiter.second, Code::ok, std::make_shared<const std::string>(wire::encode_gathered(all)));
}

void Service::changed(std::string_view key, std::size_t keys_before) {
  const std::size_t keys_now = dictionary_.size();
  if (keys_now < keys_before) claims_.release(key);
  if (keys_now != keys_before) count(key, keys_now > keys_before ? 1 : -1);
  const auto place = waiting_.find(key);
  if (place == waiting_.end()) return;
  const auto found = dictionary_.find(key);
  if (!found || !*found) return;  // the change failed
  const std::set<Waiter> waiters = std::move(place->second);
  waiting_.erase(place);
  for (const Waiter& waiter : waiters) answer_waiter(waiter, *found);
}

// One key more or less for all of its prefixes that somebody counts.
void Service::count(std::string_view key, std::ptrdiff_t change) {
  for (std::size_t length = 0; length <= key.size() && !counting_.empty(); ++length) {
    const auto place = counting_.find(key.substr(0, length));
    if (place == counting_.end()) continue;
    place->second.present += static_cast<std::size_t>(change);
    complete_if_all_there(std::string(place->first));
  }
}

void Service::complete_if_all_there(const std::string& prefix) {
  for (;;) {
    const auto place = counting_.find(prefix);
    if (place == counting_.end() || place->second.waiters.begin()->first > place->second.present) return;
    complete(place->second.waiters.begin()->second);
  }
}

// Sets the outcome that this one waits for, and so answers all that do.
void Service::complete(Waiter waiter) {
  const Wait& wait = waits_of_.at(waiter.first).at(waiter.second);
  const std::string key = wait.key;
  const std::size_t keys_before = dictionary_.size();
  const Status status = dictionary_.set(key, wait.meeting->complete);
  if (status.ok()) return changed(key, keys_before);
  const Wait taken = take_wait(waiter);
  forget(taken, waiter);
  fail(waiter.first, waiter.second, status);
}

void Service::remove_key(std::string_view key) {
  const std::size_t keys_before = dictionary_.size();
  (void)dictionary_.remove(key);
  changed(key, keys_before);
}

void Service::list(ClientId client, const wire::Request& request) {
  const auto page = dictionary_.list(request.key, request.value, wire::page_bytes);
  if (!page) return fail(client, request.id, page.status());
  answer_(client, request.id, Code::ok, std::make_shared<const std::string>(wire::encode_page(page->keys, page->more)));
}

void Service::fail(ClientId client, std::uint64_t request, const Status& status) {
  answer_(client, request, status.code(), std::make_shared<const std::string>(status.message()));
}

}  // namespace hocket::store
