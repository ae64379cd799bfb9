#include "src/store/service.hpp"

#include "src/store/keys.hpp"

namespace hocket::store {
namespace {

using wire::Operation;

Code present(const Dictionary::Value& value) {
  return value ? Code::ok : Code::not_found;
}

}  // namespace

void Service::handle(ClientId client, const wire::Request& request) {
  const auto respond = [&](const auto& result, auto&& to_answer) {
    if (!result) return fail(client, request.id, result.status());
    to_answer(*result);
  };
  const auto with_value = [&](const Dictionary::Value& value) { answer_(client, request.id, present(value), value); };
  switch (request.operation) {
    case Operation::set: {
      const Status status = dictionary_.set(request.key, request.value);
      if (!status) return fail(client, request.id, status);
      answer_(client, request.id, Code::ok, nullptr);
      return wake(request.key);
    }
    case Operation::get: return get(client, request);
    case Operation::peek: return respond(dictionary_.find(request.key), with_value);
    case Operation::add:
      respond(dictionary_.add(request.key, request.delta), [&](std::int64_t sum) {
        answer_(client, request.id, Code::ok, std::make_shared<const std::string>(wire::encode_sum(sum)));
      });
      return wake(request.key);
    case Operation::compare_and_set:
      respond(dictionary_.compare_and_set(request.key, request.expected, request.value), with_value);
      return wake(request.key);
    case Operation::remove:
      return respond(dictionary_.remove(request.key),
                     [&](bool removed) { answer_(client, request.id, removed ? Code::ok : Code::not_found, nullptr); });
    case Operation::list: return list(client, request);
    case Operation::cancel: return unpark(client, request.id);
  }
}

void Service::leave(ClientId client) {
  const auto place = waits_of_.find(client);
  if (place == waits_of_.end()) return;
  for (const auto& [request, key] : place->second) {
    const auto waiters = waiting_.find(key);
    waiters->second.erase({client, request});
    if (waiters->second.empty()) waiting_.erase(waiters);
    --parked_;
  }
  waits_of_.erase(place);
}

void Service::get(ClientId client, const wire::Request& request) {
  const auto found = dictionary_.find(request.key);
  if (!found) return fail(client, request.id, found.status());
  if (!*found) return park(client, request);
  answer_(client, request.id, Code::ok, *found);
}

void Service::park(ClientId client, const wire::Request& request) {
  auto& waits = waits_of_[client];
  if (waits.size() >= parked_by_client_max) {
    return fail(client, request.id, {Code::out_of_resources, "this client has too many waiting gets in the store"});
  }
  if (!waits.emplace(request.id, request.key).second) {
    return fail(client, request.id, {Code::protocol_error, "two waiting gets of one client have the same id"});
  }
  waiting_[std::string(request.key)].insert({client, request.id});
  ++parked_;
}

void Service::unpark(ClientId client, std::uint64_t request) {
  const auto waits = waits_of_.find(client);
  if (waits == waits_of_.end()) return;
  const auto wait = waits->second.find(request);
  if (wait == waits->second.end()) return;  // answered meanwhile
  const auto waiters = waiting_.find(wait->second);
  waiters->second.erase({client, request});
  if (waiters->second.empty()) waiting_.erase(waiters);
  waits->second.erase(wait);
  --parked_;
}

void Service::wake(std::string_view key) {
  const auto place = waiting_.find(key);
  if (place == waiting_.end()) return;
  const auto found = dictionary_.find(key);
  if (!found || !*found) return;  // the change failed
  const std::set<Waiter> waiters = std::move(place->second);
  waiting_.erase(place);
  for (const auto& [client, request] : waiters) {
    const auto waits = waits_of_.find(client);
    waits->second.erase(request);
    if (waits->second.empty()) waits_of_.erase(waits);
    --parked_;
    answer_(client, request, Code::ok, *found);
  }
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
