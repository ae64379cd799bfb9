#include "tools/launch_relays.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace hocket::launch {
Status Relays::add(const std::string& label, bool to_error, UniqueFd* write_end) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return {Code::out_of_resources,
            fmt::format("Cannot make a pipe for a rank: {}; raise the limit (ulimit -n).", std::strerror(errno))};
  }
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  *write_end = UniqueFd(ends[1]);
  relays_.push_back({UniqueFd(ends[0]), to_error ? &error_ : &output_, LineCutter(label)});
  return {};
}

void Relays::say(std::string_view line) {
  put(true, line);
  (void)flush();
}

void Relays::put(bool to_error, std::string_view line) {
  Outlet& outlet = to_error ? error_ : output_;
  outlet.add(line);
  outlet.add("\n");
}

bool Relays::listens_to(const Relay& relay) const {
  return relay.from && (discards_ || (!pauses_ && !relay.to->full()));
}

void Relays::watch(std::vector<pollfd>& watched) const {
  for (const Outlet* outlet : {&output_, &error_}) {
    if (!outlet->empty()) watched.push_back({outlet->fd(), POLLOUT, 0});
  }
  for (const Relay& relay : relays_) {
    if (listens_to(relay)) watched.push_back({relay.from.get(), POLLIN, 0});
  }
}

bool Relays::read_once(Relay& relay) {
  char bytes[65536];
  if (!listens_to(relay)) return false;
  ssize_t got = 0;
  do {
    got = ::read(relay.from.get(), bytes, sizeof(bytes));
  } while (got < 0 && errno == EINTR);
  if (got < 0) return false;
  const std::string lines = got == 0 ? relay.lines.finish() : relay.lines.feed({bytes, static_cast<std::size_t>(got)});
  if (got == 0) relay.from.reset();
  if (!relay.to->full()) relay.to->add(lines);
  return got > 0;
}

bool Relays::relay() {
  constexpr int reads_max = 16;
  for (Relay& relay : relays_) {
    for (int reads = 0; reads < reads_max && read_once(relay); ++reads) {
      if (!flush()) return false;
    }
  }
  return flush();
}

bool Relays::flush() {
  for (Outlet* outlet : {&output_, &error_}) {
    const std::size_t before = outlet->kept();
    const bool well = outlet->flush();
    taken_ += before - outlet->kept();
    if (well) continue;
    const int error = errno;
    relays_.clear();
    *outlet = Outlet(-1);
    errno = error;
    return false;
  }
  return true;
}

void Relays::finish() {
  for (Relay& relay : relays_) relay.to->add(relay.lines.finish());
}

}  // namespace hocket::launch
