#include "src/store/endpoint.hpp"

#include <fmt/format.h>
#include <netdb.h>

#include <condition_variable>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "src/base/signals_blocked.hpp"

namespace hocket::store {
namespace {

// What getaddrinfo says: its error, or addresses.
struct Answer {
  int error = 0;
  std::vector<Endpoint> endpoints;
};

Answer look_up(const std::string& host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  Answer answer;
  answer.error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (answer.error != 0) return answer;
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, &::freeaddrinfo);
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    Endpoint endpoint;
    std::memcpy(&endpoint.address, entry->ai_addr, entry->ai_addrlen);
    endpoint.bytes = entry->ai_addrlen;
    answer.endpoints.push_back(endpoint);
  }
  return answer;
}

// On a thread of its own, which no exception may leave.
Answer look_up_here(const std::string& host, std::uint16_t port) noexcept {
  try {
    return look_up(host, port, 0);
  } catch (const std::exception&) {
    return {.error = EAI_MEMORY, .endpoints = {}};
  }
}

// Shared with the thread that looks up, which may outlive the wait for it.
struct Lookup {
  std::mutex mutex;
  std::condition_variable done;
  std::optional<Answer> answer;
};

}  // namespace

Result<std::vector<Endpoint>> resolve(const std::string& host, std::uint16_t port, Deadline deadline) {
  Answer answer = look_up(host, port, AI_NUMERICHOST);  // never waits
  if (answer.error == EAI_NONAME) {
    auto lookup = std::make_shared<Lookup>();
    try {
      const SignalsBlocked signals_blocked;
      std::thread([lookup, host, port] {
        Answer found = look_up_here(host, port);
        const std::lock_guard lock(lookup->mutex);
        lookup->answer = std::move(found);
        lookup->done.notify_all();
      }).detach();
    } catch (const std::system_error& error) {
      return Status(Code::out_of_resources, fmt::format("cannot start a thread to look up {}: {}", host, error.what()));
    }
    std::unique_lock lock(lookup->mutex);
    if (!lookup->done.wait_until(lock, deadline.at(), [&] { return lookup->answer.has_value(); })) {
      return Status(Code::store_unreachable,
                    fmt::format("the name {} was not resolved in time; check the name service", host));
    }
    answer = *lookup->answer;
  }
  if (answer.error != 0 || answer.endpoints.empty()) {
    return Status(Code::store_unreachable,
                  fmt::format("the host name \"{}\" cannot be resolved ({}); check its spelling", host,
                              ::gai_strerror(answer.error)));
  }
  return std::move(answer.endpoints);
}

std::string host_and_port(const std::string& host, std::uint16_t port) {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

}  // namespace hocket::store
