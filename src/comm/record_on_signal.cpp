#include "src/comm/record_on_signal.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <system_error>

#include "src/base/log.hpp"
#include "src/base/signals_blocked.hpp"
#include "src/base/wake_event.hpp"

namespace hocket::comm {
namespace {

// A handler knows nothing but what is global: the events of those that listen.
constexpr std::size_t listeners_max = 256;
constexpr int nobody = 0;
constinit std::array<std::atomic<int>, listeners_max> events{};  // descriptors, counted from 1
constinit std::atomic<int> handlers_running{0};

void tell_listeners(int) {
  const int error = errno;
  ++handlers_running;
  for (const auto& event : events) {
    if (const int listener = event.load(); listener != nobody) set_event(listener - 1);
  }
  --handlers_running;
  errno = error;
}

Status install(int signal) {
  struct sigaction before {};
  ::sigaction(signal, nullptr, &before);
  const bool is_free =
      (before.sa_flags & SA_SIGINFO) == 0 && (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN);
  if ((before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler == tell_listeners) return {};
  if (!is_free) {
    return {Code::invalid_environment,
            "HOCKET_RECORD_SIGNAL names a signal that the program handles itself; name the other one, or none"};
  }
  struct sigaction handler {};
  handler.sa_handler = tell_listeners;
  handler.sa_flags = SA_RESTART;
  ::sigaction(signal, &handler, nullptr);
  return {};
}

// -1: there is none.
int take_place(int event) {
  for (std::size_t place = 0; place < events.size(); ++place) {
    int expected = nobody;
    if (events[place].compare_exchange_strong(expected, event + 1)) return static_cast<int>(place);
  }
  return -1;
}

}  // namespace

Result<std::unique_ptr<RecordOnSignal>> RecordOnSignal::start(int signal, std::function<void()> record) {
  if (Status installed = install(signal); !installed.ok()) return installed;
  std::unique_ptr<RecordOnSignal> made(new RecordOnSignal);
  made->event_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (made->event_.get() < 0) return Status(Code::out_of_resources, "no file descriptor is left for a signal");
  made->place_ = take_place(made->event_.get());
  if (made->place_ < 0) log::warn("more communicators listen to HOCKET_RECORD_SIGNAL than can; this one does not");
  try {
    const SignalsBlocked signals_blocked;
    made->thread_ = std::thread([listener = made.get(), does = std::move(record)] { listener->run(does); });
  } catch (const std::system_error& error) {
    return Status(Code::out_of_resources,
                  fmt::format("no thread could be started that waits for a signal: {}", error.what()));
  }
  return made;
}

RecordOnSignal::~RecordOnSignal() {
  if (place_ >= 0) events[static_cast<std::size_t>(place_)].store(nobody);
  while (handlers_running.load() != 0) std::this_thread::yield();  // the descriptor may be another file's next
  ends_ = true;
  if (event_.get() >= 0) set_event(event_);
  if (thread_.joinable()) thread_.join();
}

void RecordOnSignal::run(const std::function<void()>& record) {
  for (;;) {
    pollfd interest{.fd = event_.get(), .events = POLLIN, .revents = 0};
    ::poll(&interest, 1, -1);
    clear_event(event_);
    if (ends_) return;
    record();
  }
}

}  // namespace hocket::comm
