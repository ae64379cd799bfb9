#include "src/store/service.hpp"

#include "src/store/keys.hpp"

namespace hocket::store {
namespace {

using wire::Operation;

Code present(const Dictionary::Value& value) {
  return value ? Code::ok : Code::not_found;
}

// Of a request that waits for a key, in bytes, about.
std::size_t cost(std::string_view key) {
  constexpr std::size_t upkeep_bytes = 256;
  return 2 * key.size() + upkeep_bytes;
}

}  // namespace

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
    case Operation::wait_for_keys: return wait_for_keys(client, request);
    case Operation::cancel: return unpark(client, request.id);
  }
}

void Service::leave(ClientId client) {
  if (const auto waits = waits_of_.extract(client)) {
    for (const auto& [request, wait] : waits.mapped()) forget(wait, {client, request});
  }
  for (const std::string& key : claims_.take(client)) remove_key(key);
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
  const auto before = dictionary_.compare_and_set(request.key, request.expected, request.value);
  if (!before) return fail(client, request.id, before.status());
  const bool swapped = *before ? request.expected && *request.expected == **before : !request.expected;
  if (swapped && request.operation == Operation::claim) claims_.assign(request.key, client);
  answer_(client, request.id, present(*before), *before);
  changed(request.key, keys_before);
}

void Service::get(ClientId client, const wire::Request& request) {
  const auto found = dictionary_.find(request.key);
  if (!found) return fail(client, request.id, found.status());
  if (*found) return answer_(client, request.id, Code::ok, *found);
  if (park(client, request, 0)) waiting_[std::string(request.key)].insert({client, request.id});
}

void Service::wait_for_keys(ClientId client, const wire::Request& request) {
  auto place = counting_.find(request.key);
  const std::size_t present = place != counting_.end() ? place->second.present : dictionary_.count(request.key);
  const auto wanted = static_cast<std::size_t>(request.delta);
  if (present >= wanted) return answer_(client, request.id, Code::ok, nullptr);
  if (!park(client, request, wanted)) return;
  if (place == counting_.end())
    place = counting_.emplace(request.key, Counting{.present = present, .waiters = {}}).first;
  place->second.waiters.insert({wanted, {client, request.id}});
}

bool Service::park(ClientId client, const wire::Request& request, std::size_t count) {
  if (parked_bytes_ + cost(request.key) > waiting_bytes_max_) {
    fail(client, request.id, {Code::out_of_resources, "too many requests wait in the store"});
    return false;
  }
  auto& waits = waits_of_[client];
  if (waits.size() >= parked_by_client_max) {
    fail(client, request.id, {Code::out_of_resources, "this client has too many waiting requests in the store"});
    return false;
  }
  if (!waits.emplace(request.id, Wait{.key = std::string(request.key), .count = count}).second) {
    fail(client, request.id, {Code::protocol_error, "two waiting requests of one client have the same id"});
    return false;
  }
  ++parked_;
  parked_bytes_ += cost(request.key);
  return true;
}

void Service::unpark(ClientId client, std::uint64_t request) {
  const auto waits = waits_of_.find(client);
  if (waits == waits_of_.end()) return;
  const auto wait = waits->second.extract(request);
  if (wait.empty()) return;  // answered meanwhile
  if (waits->second.empty()) waits_of_.erase(waits);
  forget(wait.mapped(), {client, request});
}

void Service::forget(const Wait& wait, Waiter waiter) {
  --parked_;
  parked_bytes_ -= cost(wait.key);
  if (wait.count > 0) {
    const auto place = counting_.find(wait.key);
    place->second.waiters.erase({wait.count, waiter});
    if (place->second.waiters.empty()) counting_.erase(place);
    return;
  }
  const auto waiters = waiting_.find(wait.key);
  waiters->second.erase(waiter);
  if (waiters->second.empty()) waiting_.erase(waiters);
}

// Its wait is in neither waiting_ nor counting_ any more.
void Service::answer_waiter(Waiter waiter, const Dictionary::Value& value) {
  const auto waits = waits_of_.find(waiter.first);
  parked_bytes_ -= cost(waits->second.extract(waiter.second).mapped().key);
  if (waits->second.empty()) waits_of_.erase(waits);
  --parked_;
  answer_(waiter.first, waiter.second, Code::ok, value);
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

// One key more or less for all of its prefixes that somebody waits for.
void Service::count(std::string_view key, std::ptrdiff_t change) {
  if (counting_.empty()) return;
  for (std::size_t length = 0; length <= key.size(); ++length) {
    const auto place = counting_.find(key.substr(0, length));
    if (place == counting_.end()) continue;
    auto& [present, waiters] = place->second;
    present += static_cast<std::size_t>(change);
    while (!waiters.empty() && waiters.begin()->first <= present) {
      answer_waiter(waiters.extract(waiters.begin()).value().second, nullptr);
    }
    if (waiters.empty()) counting_.erase(place);
  }
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
