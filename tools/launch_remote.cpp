#include "tools/launch_remote.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>

#include "hocket/hocket.h"
#include "tools/launch_address.hpp"
#include "tools/launch_agent.hpp"
#include "tools/launch_job.hpp"
#include "tools/launch_store.hpp"

namespace hocket::launch {
namespace {

constexpr int exit_unreachable = 255;  // as ssh does
constexpr int beats_in_silence = 5;    // some may be late

std::string shell_word(std::string_view text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

// Nothing where ssh does not say.
std::string known(const std::string& word) {
  return word == "-" ? "" : word;
}

// What every host gets: Hocket's own variables, save those that mean one rank or one host, and those that were named.
std::vector<std::string> variables_for(const std::vector<std::string>& named) {
  static constexpr std::string_view own[] = {"HOCKET_RANK", "HOCKET_WORLD_SIZE", "HOCKET_HOST_ID",
                                             "HOCKET_TCP_ADVERTISE"};
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable = *entry;
    const std::string_view name = variable.substr(0, variable.find('='));
    const bool ours = name.starts_with("HOCKET_") && std::ranges::find(own, name) == std::end(own);
    if (ours || std::ranges::find(named, name) != named.end()) variables.emplace_back(variable);
  }
  return variables;
}

}  // namespace

RemoteRanks::~RemoteRanks() {
  for (Member& member : members_) {
    if (member.connection.wait_status()) continue;
    kill(-member.connection.pid(), SIGKILL);
    waitpid(member.connection.pid(), nullptr, 0);
    guard_.remove(member.connection.pid());
  }
}

Status RemoteRanks::start() {
  for (const Share& share : hosts_.shares) {
    auto connection = Connection::start(command_for(share));
    if (!connection) return connection.status();
    guard_.add(connection->pid());
    members_.push_back({.share = share, .connection = std::move(*connection), .left = share.count});
  }
  ::signal(SIGTSTP, SIG_IGN);  // whoever does not hear of us for a while would end the ranks
  answered_ = Deadline::after(2 * hosts_.timeout);
  beat();
  return {};
}

std::vector<std::string> RemoteRanks::command_for(const Share& share) const {
  using std::chrono::ceil, std::chrono::seconds;
  const std::string here = std::filesystem::read_symlink("/proc/self/exe");
  const std::string silence = fmt::format("{}", static_cast<double>(hosts_.timeout.count()) / 1000);
  if (is_this_host(share.name)) return {here, "--agent", silence};
  std::vector<std::string> command = hosts_.ssh;  // its options come first: ssh takes the first word on each matter
  const auto option = [&](const std::string& text) { command.insert(command.end(), {"-o", text}); };
  for (const char* text : {"BatchMode=yes", "LogLevel=ERROR", "ClearAllForwardings=yes", "ControlPath=none"})
    option(text);
  option(fmt::format("ConnectTimeout={}", ceil<seconds>(hosts_.timeout).count()));
  option(fmt::format("ServerAliveInterval={}", ceil<seconds>(hosts_.timeout / 3).count()));
  option("ServerAliveCountMax=2");
  command.insert(command.end(), {"-T", share.name});
  const std::string& there = hosts_.remote_program.empty() ? here : hosts_.remote_program;
  command.push_back(fmt::format("exec {} --agent {}", shell_word(there), silence));
  return command;
}

void RemoteRanks::watch(std::vector<pollfd>& watched) const {
  for (const Member& member : members_) member.connection.watch(watched);
}

int RemoteRanks::wait_ms() const {
  return alive() ? earlier(beat_, answered_).remaining_ms() : -1;
}

std::vector<End> RemoteRanks::progress() {
  reap();
  for (Member& member : members_) look_after(member);
  if (answered_.passed()) answered_ = Deadline::never();  // whoever has not answered has failed
  if (all_ready()) {
    answered_ = Deadline::never();
    if (const Status sent = send_jobs(); !sent) {
      std::string sentence = sent.message();
      if (sentence.ends_with('.')) sentence.pop_back();
      fail(members_.front(), exit_unreachable, sentence);
    }
  }
  if (beat_.passed()) beat();
  pause_or_go_on();
  return std::exchange(ends_, {});
}

void RemoteRanks::reap() {
  int wait_status = 0;
  for (pid_t pid; (pid = waitpid(-1, &wait_status, WNOHANG)) > 0;) {
    const auto found = std::ranges::find(members_, pid, [](const Member& member) { return member.connection.pid(); });
    if (found == members_.end()) continue;
    guard_.remove(pid);
    found->connection.ended(wait_status);
  }
}

void RemoteRanks::look_after(Member& member) {
  Connection& connection = member.connection;
  connection.flush();
  connection.read([&](std::string_view line) { take_line(member, line); });
  if (member.state == State::failed || (member.state == State::running && member.left == 0)) return;
  const std::string& name = member.share.name;
  if (connection.finished() && member.state == State::running) {
    fail(member, exit_unreachable, fmt::format("lost {}: {}", name, connection.reason()));
  } else if (connection.finished()) {
    const int status = WEXITSTATUS(*connection.wait_status());
    const bool no_program = status == 127 || status == 126;
    const char* hint = no_program ? " (--remote-program says where hocket-run is there)" : "";
    fail(member, exit_unreachable, fmt::format("cannot start ranks on {}: {}{}", name, connection.reason(), hint));
  } else if (member.state == State::called && answered_.passed()) {
    const double seconds = 2 * static_cast<double>(hosts_.timeout.count()) / 1000;
    fail(member, exit_unreachable, fmt::format("cannot start ranks on {}: no answer within {} s", name, seconds));
  }
}

void RemoteRanks::take_line(Member& member, std::string_view line) {
  if (member.state == State::called) return take_greeting(member, line);
  if (line.empty()) return;
  const std::string rest(line.substr(1));
  if (line.front() == 'o' || line.front() == 'e') return take_output(line.front() == 'e', rest);
  if (member.state != State::running) return;
  int rank = 0, status = 0;
  std::istringstream words(rest);
  if (line.front() == 'd' && words >> rank >> status) {
    --member.left;
    ends_.push_back({.rank = rank, .wait_status = status, .host = member.share.name});
  } else if (line.front() == 'x' && words >> status) {
    std::string sentence;
    std::getline(words >> std::ws, sentence);
    if (sentence.ends_with('.')) sentence.pop_back();
    fail(member, status, fmt::format("on {}: {}", member.share.name, sentence));
  }
}

// What comes before the greeting is the shell's.
void RemoteRanks::take_greeting(Member& member, std::string_view line) {
  const std::size_t begin = line.find(agent_greeting);
  if (begin == std::string_view::npos) return;
  std::istringstream words{std::string(line.substr(begin + std::string_view(agent_greeting).size()))};
  std::string version;
  words >> version >> member.client >> member.server >> member.port;
  member.client = known(member.client);
  member.server = known(member.server);
  member.state = State::ready;
  if (version == hocket_version() && words) return;
  fail(member, exit_unreachable,
       fmt::format("cannot start ranks on {}: hocket-run there is version {}, here it is {}", member.share.name,
                   version, hocket_version()));
}

void RemoteRanks::take_output(bool error, std::string_view line) {
  if (!relays_.full() || !relays_.discards()) relays_.put(error, line);
}

void RemoteRanks::fail(Member& member, int status, const std::string& sentence) {
  // Ranks are started on all hosts or on none.
  for (Member& other : members_) {
    if (!other.has_job) other.state = State::failed;
  }
  member.state = State::failed;
  ends_.push_back({.wait_status = W_EXITCODE(status, 0), .host = member.share.name, .sentence = sentence});
}

void RemoteRanks::beat() {
  beat_ = Deadline::after(hosts_.timeout / beats_in_silence);
  for (Member& member : members_) {
    if (member.connection.idle()) member.connection.tell("beat\n");
  }
}

// Hosts are always listened to, as they tell of deaths; so they must know when there is no room for what ranks say.
void RemoteRanks::pause_or_go_on() {
  const bool full = relays_.full() && !relays_.discards();
  if (full == paused_) return;
  paused_ = full;
  tell_all(full ? "pause\n" : "go on\n");
}

void RemoteRanks::tell_all(const std::string& order) {
  for (Member& member : members_) {
    if (member.has_job) member.connection.tell(order);
  }
}

// Never where a connection could not be started: then members are missing.
bool RemoteRanks::all_ready() const {
  const auto ready = [](const Member& member) { return member.state == State::ready; };
  return members_.size() == hosts_.shares.size() && std::ranges::all_of(members_, ready);
}

Status RemoteRanks::send_jobs() {
  std::error_code error;
  const std::string folder = std::filesystem::current_path(error);
  if (error) return {Code::invalid_environment, "the working directory is gone: " + error.message()};
  const auto at = address();
  if (!at) return at.status();
  auto served = serve_store(*at);
  if (!served) return served.status();
  store_ = std::move(*served);
  const Member& head = members_.front();
  Job job;
  job.command = options_.command;
  job.variables = variables_for(hosts_.variables);
  job.folder = folder;
  job.binding = options_.binding;
  job.shared_heap = options_.shared_heap;
  job.labelled = options_.output == Output::labelled;
  job.grace = options_.grace;
  job.place.ranks = options_.ranks;
  job.place.master_address = *at;
  job.place.master_port = static_cast<std::uint16_t>(head.port);
  if (!is_this_host(head.share.name)) job.place.master_address = head.server.empty() ? head.share.name : head.server;
  for (Member& member : members_) {
    job.place.first = member.share.first;
    job.place.local = member.share.count;
    const std::string message = encode(job);
    member.connection.tell(fmt::format("job {}\n", message.size()));
    member.connection.tell(message);
    member.state = State::running;
    member.has_job = true;
  }
  return {};
}

// Where the hosts reach this one.
Result<std::string> RemoteRanks::address() const {
  if (!hosts_.address.empty()) return own_address(hosts_.address);
  const auto remote = [](const Member& member) { return !is_this_host(member.share.name); };
  const auto first = std::ranges::find_if(members_, remote);
  if (first == members_.end()) return std::string("127.0.0.1");
  if (is_own_address(first->client)) return first->client;
  return Status(
      Code::invalid_argument,
      fmt::format("cannot tell at which address {} reaches this host: name one with --address", first->share.name));
}

void RemoteRanks::signal(int number) {
  tell_all(number == SIGKILL ? "kill\n" : fmt::format("end {}\n", number));
  for (const Member& member : members_) {
    if (!member.has_job && !member.connection.wait_status()) kill(-member.connection.pid(), SIGKILL);
  }
}

int RemoteRanks::running() const {
  int ranks = 0;
  for (const Member& member : members_) ranks += member.state == State::failed ? 0 : member.left;
  return ranks;
}

bool RemoteRanks::alive() const {
  return std::ranges::any_of(members_, [](const Member& member) { return !member.connection.finished(); });
}

}  // namespace hocket::launch
