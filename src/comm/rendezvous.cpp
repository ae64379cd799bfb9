#include "src/comm/rendezvous.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <sstream>

#include "src/base/environment.hpp"
#include "src/base/log.hpp"
#include "src/base/random.hpp"

namespace hocket::comm {
namespace {

constexpr std::chrono::milliseconds look_around_every{250};  // while waiting: did somebody fail, who is missing
constexpr int looks_before_warning = 40;

// This process on this host, told apart from a later one with the same number.
std::string process_identity() {
  std::ifstream file("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  std::string start_time;
  for (int field = 3; field <= 22; ++field) fields >> start_time;  // field 22, proc(5)
  return fmt::format("process {} (started at tick {}) on host {}", ::getpid(), start_time, host_identity());
}

struct Claim {
  std::uint64_t instance = 0;
  bool joining = false;
  std::string process;

  std::string serialise() const { return fmt::format("{} {} {}", instance, joining ? "joining" : "joined", process); }
  static Claim parse(const std::string& text) {
    Claim claim;
    std::istringstream fields(text);
    std::string state;
    fields >> claim.instance >> state >> std::ws;
    claim.joining = state == "joining";
    std::getline(fields, claim.process);
    return claim;
  }
};

}  // namespace

std::string host_identity() {
  if (const auto given = environment::find({"HOCKET_HOST_ID"})) return given->value;
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return fmt::format("{}/{}", name.data(), boot);
}

std::string Rendezvous::key(std::string_view name) const {
  return fmt::format("{}/{}/{}", options_.name, instance_, name);
}

std::string Rendezvous::claim_key() const {
  return fmt::format("{}/claim/{}", options_.name, options_.rank);
}

Result<std::unique_ptr<Rendezvous>> Rendezvous::join(Store& store, const Options& options, Deadline deadline,
                                                     std::stop_token stop) {
  std::unique_ptr<Rendezvous> rendezvous(new Rendezvous(store, options, deadline, std::move(stop)));
  for (const auto step : {&Rendezvous::claim, &Rendezvous::agree_on_size, &Rendezvous::agree_on_group}) {
    Status status = ((*rendezvous).*step)();
    if (status.code() == Code::aborted) rendezvous->fail(status);
    if (!status.ok()) return status;
  }
  return rendezvous;
}

Status Rendezvous::claim() {
  const std::string process = process_identity();
  std::optional<std::string> expected;
  for (;;) {
    const Claim before = expected ? Claim::parse(*expected) : Claim{};
    if (before.joining && before.process != process) {
      return Status(Cause{.code = Code::rank_taken,
                          .message = fmt::format("rank {} of job \"{}\" is taken by {} in {}: give each process a rank "
                                                 "of its own; if that process has ended, use another HOCKET_JOB or a "
                                                 "fresh store",
                                                 options_.rank, options_.name, before.process, store_.url()),
                          .peer = options_.rank});
    }
    const Claim wanted{.instance = before.instance + 1, .joining = true, .process = process};
    auto found =
        store_.compare_and_set(claim_key(), expected ? std::optional<std::string_view>(*expected) : std::nullopt,
                               wanted.serialise(), deadline_);
    if (!found.ok()) return found.status();
    if (*found == expected) {
      instance_ = wanted.instance;
      return {};
    }
    expected = *found;
  }
}

Status Rendezvous::agree_on_size() {
  const std::string mine = std::to_string(options_.size);
  auto found = store_.compare_and_set(key("size"), std::nullopt, mine, deadline_);
  if (!found.ok()) return found.status();
  if (!*found || **found == mine) return {};
  const Status why(Code::mismatch, fmt::format("rank {} was started with world size {}, but another rank of job \"{}\" "
                                               "with {}: give all ranks the same WORLD_SIZE",
                                               options_.rank, mine, options_.name, **found));
  fail(why);
  return why;
}

Status Rendezvous::agree_on_group() {
  if (options_.rank == 0) {
    group_ = random_number();
    return store_.set(key("group"), std::to_string(group_), deadline_);
  }
  auto text = await("group");
  if (!text.ok()) return text.status();
  const auto parsed = std::from_chars(text->data(), text->data() + text->size(), group_);
  if (parsed.ec != std::errc() || parsed.ptr != text->data() + text->size()) {
    return {Code::protocol_error, fmt::format("the store {} holds \"{}\" as the group of job \"{}\": something else "
                                              "writes there; use a store of this job alone",
                                              store_.url(), *text, options_.name)};
  }
  return {};
}

Status Rendezvous::publish(const PeerInfo& info) {
  return store_.set(key(fmt::format("peer/{}", options_.rank)), info.serialise(), deadline_);
}

Result<PeerInfo> Rendezvous::peer_info_of(Rank rank) {
  auto text = await(fmt::format("peer/{}", rank));
  if (!text.ok()) return text.status();
  return PeerInfo::parse(*text);
}

// Waits for a key, looking up now and then whether it is still worth waiting.
Result<std::string> Rendezvous::await(const std::string& name) {
  for (int looks = 1;; ++looks) {
    auto value = store_.get(key(name), earlier(deadline_, Deadline::after(look_around_every)));
    if (value.ok() || value.status().code() != Code::timeout) return value;
    if (stop_.stop_requested())
      return Status(Code::aborted, fmt::format("rank {} gave up waiting for the others", options_.rank));
    auto failed = store_.peek(key("failed"), deadline_);
    if (failed.ok() && *failed) return Status(Code::mismatch, fmt::format("another rank could not join: {}", **failed));
    if (deadline_.passed()) {
      return Status(Code::timeout, fmt::format("rank {} waited in vain for the others in {}: missing {}", options_.rank,
                                               store_.url(), missing_ranks()));
    }
    if (looks % looks_before_warning == 0) {
      log::warn(
          fmt::format("rank {} waits for the others in {}: missing {}", options_.rank, store_.url(), missing_ranks()));
    }
  }
}

std::string Rendezvous::missing_ranks() const {
  constexpr std::size_t listed_max = 16;
  auto keys = store_.list(key("peer/"), Deadline::after(look_around_every));
  if (!keys.ok()) return "ranks unknown: " + keys.status().message();
  std::string text;
  std::size_t count = 0;
  for (Rank rank = 0; rank < options_.size; ++rank) {
    const bool here = std::binary_search(keys->begin(), keys->end(), key(fmt::format("peer/{}", rank)));
    if (here || rank == options_.rank || ++count > listed_max) continue;
    text += fmt::format("{}{}", text.empty() ? "rank " : ", ", rank);
  }
  if (count == 0) return "none any more";
  if (count > listed_max) text += fmt::format(" and {} more", count - listed_max);
  return text;
}

void Rendezvous::finish() {
  const Claim claim{.instance = instance_, .joining = false, .process = process_identity()};
  (void)store_.set(claim_key(), claim.serialise(), deadline_);
  (void)store_.remove(key(fmt::format("peer/{}", options_.rank)), deadline_);
}

void Rendezvous::fail(const Status& why) {
  const Deadline soon = Deadline::after(look_around_every);
  (void)store_.compare_and_set(key("failed"), std::nullopt, why.message(), soon);
  const Claim claim{.instance = instance_, .joining = false, .process = process_identity()};
  (void)store_.set(claim_key(), claim.serialise(), soon);
}

}  // namespace hocket::comm
