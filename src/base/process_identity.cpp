#include "src/base/process_identity.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "src/base/file_contents.hpp"
#include "src/base/host_identity.hpp"
#include "src/base/printable.hpp"
#include "src/base/words.hpp"

namespace hocket {
namespace {

// What /proc says about a process, proc(5); empty where it says nothing.
struct Facts {
  std::string state, started;
  bool exits = false;  // the kernel takes it down; its connections end before it has
};

constexpr unsigned exiting_flag = 0x4;  // the kernel's PF_EXITING

Facts facts_of(const std::string& process) {
  const std::string text = file_contents(fmt::format("/proc/{}/stat", process)).value_or("");
  Words fields(std::string_view(text).substr(std::min(text.size(), text.rfind(')') + 1)));
  Facts facts;
  facts.state = fields.word();  // field 3
  fields.skip(5);
  facts.exits = (fields.number<unsigned>() & exiting_flag) != 0;  // field 9
  fields.skip(12);
  facts.started = fields.word();  // field 22
  return facts;
}

std::string own_kernel() {
  const std::string boot = HostIdentity::own_boot();
  struct stat numbers {};
  if (boot.empty() || ::stat("/proc/self/ns/pid", &numbers) != 0) return {};
  return fmt::format("{}/{}", boot, numbers.st_ino);
}

}  // namespace

ProcessIdentity ProcessIdentity::own() {
  return {.process = ::getpid(),
          .started = facts_of("self").started,
          .kernel = own_kernel(),
          .host = HostIdentity::own().name()};
}

std::optional<ProcessIdentity> ProcessIdentity::parse(std::string_view text) {
  ProcessIdentity identity;
  Words fields(text);
  identity.process = fields.number<pid_t>();
  const std::string_view started = fields.word(), kernel = fields.word();
  std::string_view rest = fields.rest();
  if (!fields.ok() || identity.process <= 0) return std::nullopt;
  identity.host = next_line(rest);
  if (started != "-") identity.started = started;
  if (kernel != "-") identity.kernel = kernel;
  return identity;
}

std::string ProcessIdentity::serialise() const {
  return fmt::format("{} {} {} {}", process, started.empty() ? "-" : started, kernel.empty() ? "-" : kernel, host);
}

std::string ProcessIdentity::describe() const {
  return fmt::format("process {} (started at tick {}) on host {}", process, printable(started), printable(host));
}

std::optional<bool> ProcessIdentity::is_alive() const {
  if (kernel.empty() || kernel != own_kernel()) return std::nullopt;
  const auto is_gone = [&] { return ::kill(process, 0) != 0 && errno == ESRCH; };
  if (is_gone()) return false;
  const Facts facts = facts_of(std::to_string(process));
  if (facts.state.empty()) return is_gone() ? std::optional(false) : std::nullopt;  // nothing: hidden from this user
  const bool ended = facts.exits || facts.state == "Z" || facts.state == "X";
  return !ended && facts.started == started;
}

bool ProcessIdentity::is_stopped() const {
  const std::string state = facts_of(std::to_string(process)).state;
  return state == "T" || state == "t";
}

}  // namespace hocket
