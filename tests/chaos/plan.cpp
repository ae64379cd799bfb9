#include "tests/chaos/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>

namespace hocket::chaos {
namespace {

// A different one of those that are left, which is then none of them.
int take(std::vector<int>& left, Random& random) {
  const auto at = left.begin() + random.between(0, static_cast<int>(left.size()) - 1);
  const int taken = *at;
  left.erase(at);
  return taken;
}

Fault drawn_fault(Random& random, std::size_t left) {
  const int draw = random.between(1, 100);
  if (draw <= 45 || left < 3) return draw <= 85 ? Fault::kill : Fault::pause;
  if (draw <= 58) return Fault::kill_several;
  if (draw <= 74) return Fault::kill_during_shrink;
  if (draw <= 86) return Fault::kill_beside_pause;
  return Fault::pause;
}

Injection injection(Fault fault, std::vector<int>& left, Random& random) {
  Injection made{.fault = fault,
                 .moment = std::chrono::microseconds(random.between(0, 8000)),
                 .distance = std::chrono::microseconds(random.between(0, 12'000))};
  int victims = 1;
  if (fault == Fault::kill_several) victims = random.between(2, static_cast<int>(left.size()) - 1);
  if (fault == Fault::kill_during_shrink || fault == Fault::kill_beside_pause) victims = 2;
  std::vector<int> after = left;
  for (int index = 0; index < victims; ++index) made.victims.push_back(take(after, random));
  if (fault == Fault::kill_beside_pause) after.push_back(made.victims.back());
  if (fault != Fault::pause && fault != Fault::cut) left = after;
  return made;
}

void add_faults(Plan& plan, Random& random) {
  std::vector<int> left(static_cast<std::size_t>(plan.size));
  std::iota(left.begin(), left.end(), 0);
  const int kind = random.between(1, 100);
  if (kind <= 5) {
    plan.faults.push_back(injection(Fault::kill_in_creation, left, random));
    plan.faults.back().moment *= 5;
    plan.timeout = std::chrono::milliseconds(2500);
  } else if (kind <= 8) {
    plan.faults.push_back(injection(Fault::restart_store, left, random));
  } else if (kind <= 12 && plan.size >= 3) {
    if (plan.style == Style::idle || plan.style == Style::awaited_message)
      plan.style = Style::everything;  // nobody misses a rank that nobody waits for
    plan.timeout = std::chrono::milliseconds(2000);
    plan.own_links = false;  // a child of its own links would time out first, and its parent 2 s later
    plan.faults.push_back(injection(Fault::stop, left, random));
  } else if (kind <= 35 && std::string_view(plan.links()) != "shm") {
    plan.own_links = false;
    plan.faults.push_back(injection(Fault::cut, left, random));
    for (int count = random.between(0, 2); count > 0 && left.size() > 1; --count) {
      plan.faults.push_back(injection(Fault::kill, left, random));
    }
  } else {
    for (int count = random.between(1, 7); count > 0 && left.size() > 1; --count) {
      plan.faults.push_back(injection(drawn_fault(random, left.size()), left, random));
    }
  }
}

}  // namespace

const char* name_of(Fault fault) {
  constexpr const char* names[] = {
      "kill", "several killed",       "killed during shrink", "killed beside a pause", "pause",
      "cut",  "stop past a deadline", "killed in creation",   "store restarted"};
  return names[static_cast<std::size_t>(fault)];
}

const char* name_of(Style style) {
  constexpr const char* names[] = {"collectives", "messages", "works",           "splits",    "large",
                                   "registered",  "idle",     "awaited message", "everything"};
  return names[static_cast<std::size_t>(style)];
}

const char* Plan::links() const {
  if (transport == "tcp") return "tcp";
  return hosts.empty() ? "shm" : "both";
}

std::string Plan::description() const {
  std::string text =
      fmt::format("seed {}: {} ranks{}{}, transport {}{}, {}", seed, size, hosts.empty() ? "" : " on hosts ", hosts,
                  transport, single_copy ? "" : " without single copies", name_of(style));
  for (const Injection& fault : faults) {
    text += fmt::format("; {} of", name_of(fault.fault));
    for (const int victim : fault.victims) text += fmt::format(" {}", victim);
    text += fmt::format(" after {} us ({} us)", fault.moment.count(), fault.distance.count());
  }
  return text;
}

Plan plan_of(std::uint64_t seed) {
  Random random(seed);
  Plan plan{.seed = seed, .size = random.between(2, 8)};
  plan.transport = random.one_of(std::array{"auto", "tcp", "shm"});
  if (plan.transport == "auto" && random.between(0, 3) > 0) {
    for (int rank = 0; rank < plan.size; ++rank)
      plan.hosts += static_cast<char>('0' + std::min(rank * 2 / plan.size, 2));
    if (random.between(0, 2) == 0) plan.hosts.back() = '2';
  }
  plan.single_copy = random.between(0, 1) == 1;
  plan.style = static_cast<Style>(random.between(0, static_cast<int>(Style::everything)));
  add_faults(plan, random);
  return plan;
}

}  // namespace hocket::chaos
