#include "tools/launch_loop.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "src/base/environment.hpp"

namespace hocket::launch {
namespace {

// How long to wait for processes to disappear after SIGKILL: only one that hangs inside the system takes longer.
constexpr std::chrono::seconds after_kill{10};
// How long one who has been told to end waits for a reader that takes nothing.
constexpr std::chrono::milliseconds reader_patience{500};
// How long ranks have, where they are to write records, for finding out that one of them has died and writing so.
constexpr std::chrono::milliseconds to_record{500};
constexpr int exit_output = 2;  // where the ranks' output cannot be written
// How often to look whether a deadline of the launch's own has passed.
constexpr int deadlines_poll_ms = 200;

std::string ranks_text(int count) {
  return fmt::format("{} rank{}", count, count == 1 ? "" : "s");
}

std::string describe(const End& end) {
  if (end.rank < 0) return end.sentence;
  const std::string rank = fmt::format("rank {}{}", end.rank, end.host.empty() ? "" : " on " + end.host);
  if (!WIFSIGNALED(end.wait_status)) return fmt::format("{} exited with status {}", rank, exit_status(end.wait_status));
  const int number = WTERMSIG(end.wait_status);
  return fmt::format("{} was killed by signal {} ({})", rank, number, strsignal(number));
}

}  // namespace

int Launch::run() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // what ranks leave behind becomes our child, so that its end is noticed
  start();
  while (ranks_.alive() && !gave_up()) {
    wait_for_events();
    handle_signals();
    obey();
    relay_output();
    take_ends();
    if (elastic_ && !ending_) follow(elastic_->look(), "");
    if (ranks_.running() == 0) end_leftovers();
    if (recorded_ && recorded_->passed()) end_all(SIGTERM);
    if (ending_ && !killed_ && ending_->passed()) kill_all();
  }
  take_ends();
  relays_.pause(false);  // what is left is no more than the ranks' pipes hold
  relay_rest();
  relays_.finish();
  relay_rest();
  return status_.value_or(0);
}

// An agent tells nothing but its ranks' ends: the launch that it works for has the word.
void Launch::say(const std::string& sentence) {
  if (agent_ == nullptr) relays_.say(fmt::format("{}: {}", options_.caller, sentence));
}

void Launch::start() {
  const Status started = ranks_.start();
  if (started) return;
  status_ = started.code() == Code::not_found ? 127 : 126;
  say(started.message());
  if (agent_ != nullptr) relays_.put(false, fmt::format("x{} {}", *status_, started.message()));
  end_all(SIGKILL);
}

void Launch::wait_for_events() {
  std::vector<pollfd> watched{{signals_.fd(), POLLIN, 0}};
  relays_.watch(watched);
  ranks_.watch(watched);
  std::vector<int> waits{ranks_.wait_ms()};
  if (elastic_ && !ending_) waits.push_back(elastic_->wait_ms());
  if (ending_) waits.push_back(deadlines_poll_ms);
  if (settled_ && !status_) waits.push_back(settled_->remaining_ms());
  if (recorded_ && !ending_) waits.push_back(recorded_->remaining_ms());
  if (agent_ != nullptr) {
    watched.push_back({agent_->fd(), POLLIN, 0});
    waits.push_back(agent_->wait_ms());
  }
  std::erase(waits, -1);
  poll(watched.data(), watched.size(), waits.empty() ? -1 : std::ranges::min(waits));
}

void Launch::handle_signals() {
  while (const int number = signals_.next()) {
    if (number != SIGCHLD) interrupt(number);
  }
}

// What the launch says that this process is the agent of.
void Launch::obey() {
  if (agent_ == nullptr) return;
  while (const auto order = agent_->next()) {
    switch (order->what) {
      case Order::What::end: end_all(order->number); break;
      case Order::What::kill: kill_all(); break;
      case Order::What::lost: interrupt(SIGTERM); break;
      case Order::What::pause: relays_.pause(true); break;
      case Order::What::go_on: relays_.pause(false); break;
    }
  }
}

// The first signal is forwarded and the ranks may end in peace; a second one means that somebody is impatient.
void Launch::interrupt(int number) {
  relays_.discard();
  if (++interrupts_ > 1) return kill_all();
  if (!status_) {
    const int ranks = ranks_.running();
    say(fmt::format("stopped by signal {} ({}){}.", number, strsignal(number),
                    ranks == 0 ? "" : "; ending " + ranks_text(ranks)));
    status_ = 128 + number;
  }
  end_all(options_.only_sigterm ? SIGTERM : number);
}

void Launch::take_ends() {
  const std::vector<End> ends = ranks_.progress();
  if (!ends.empty()) relay_output();  // what they said last belongs before this
  if (elastic_) return outlive(ends);
  const bool first = !failed_;
  for (const End& end : ends) {
    if (agent_ != nullptr) relays_.put(false, fmt::format("d{} {}", end.rank, end.wait_status));
    if (end.wait_status == 0) continue;
    // Of ranks that ended in one instant, a killed one is the cause and the others the effect. What other hosts tell
    // takes a moment longer.
    const bool at_once = first || end.host != failed_->host;
    const bool likelier = WIFSIGNALED(end.wait_status) && (!failed_ || (at_once && WIFEXITED(failed_->wait_status)));
    if (!failed_ || likelier) failed_ = end;
  }
  if (!failed_ || status_ || agent_ != nullptr) return;  // an agent is told what follows
  if (!settled_) settled_ = Deadline::after(std::chrono::milliseconds(ranks_.settling_ms()));
  const bool sure = failed_->rank < 0 || WIFSIGNALED(failed_->wait_status);
  if (sure || settled_->passed() || ranks_.running() == 0) report_failure(*failed_);
}

void Launch::outlive(const std::vector<End>& ends) {
  // Those that have ended well first: they count where it is asked how many are left.
  for (const bool well : {true, false}) {
    for (const End& end : ends) {
      if (!ending_ && (end.wait_status == 0) == well) follow(elastic_->after(end), describe(end) + "; ");
    }
  }
}

void Launch::follow(const ElasticJob::Decision& decision, const std::string& cause) {
  if (!decision.sentence.empty()) say(fmt::format("{}{}.", cause, decision.sentence));
  if (!decision.ends_with) return;
  status_ = decision.ends_with;
  end_all(SIGTERM);
}

void Launch::report_failure(const End& end) {
  status_ = exit_status(end.wait_status);
  settled_.reset();
  const int others = ranks_.running();
  say(others == 0 ? describe(end) + "." : fmt::format("{}; ending the other {}.", describe(end), others));
  if (environment::find({"HOCKET_RECORD_DIR"})) {
    recorded_ = Deadline::after(to_record);
  } else {
    end_all(SIGTERM);
  }
}

// Sends `number` to all, once, and lets the time of grace begin.
void Launch::end_all(int number) {
  if (ending_) return;
  ending_ = Deadline::after(options_.grace);
  ranks_.signal(number);
}

// What the ranks have started may have ignored the signal that the ranks were sent.
void Launch::end_leftovers() {
  if (leftovers_ended_) return;
  leftovers_ended_ = true;
  if (!ending_) ending_ = Deadline::after(options_.grace);
  ranks_.signal(SIGTERM);
}

void Launch::kill_all() {
  if (killed_) return;
  if (ranks_.running() > 0 && !interrupted()) {
    say(fmt::format("{} did not end within {} s of SIGTERM; now killed.", ranks_text(ranks_.running()),
                    static_cast<double>(options_.grace.count()) / 1000));
  }
  killed_ = Deadline::after(after_kill);
  ranks_.signal(SIGKILL);
}

void Launch::relay_output() {
  if (!relays_.relay()) output_closed(errno);
}

// Passes on what the ranks said before they ended. Who has been told to end waits only for one who reads.
void Launch::relay_rest() {
  std::size_t taken = relays_.taken();
  Deadline patience = Deadline::after(reader_patience);
  for (bool all = false; !all;) {
    all = relays_.empty();
    relay_output();
    all = all && relays_.empty();
    if (all || interrupts_ > 1) return;
    if (relays_.taken() != taken || !interrupted()) patience = Deadline::after(reader_patience);
    if (patience.passed()) return;
    taken = relays_.taken();
    if (relays_.empty()) continue;
    wait_for_events();
    handle_signals();
    obey();
  }
}

// Nobody reads there any more, or the disk is full. Ranks end before they notice.
void Launch::output_closed(int error) {
  if (!status_) {
    status_ = error == EPIPE ? 128 + SIGPIPE : exit_output;
    if (error != EPIPE) say(fmt::format("Cannot write the ranks' output: {}.", strerror(error)));
  }
  end_all(SIGTERM);
}

}  // namespace hocket::launch
