#include "src/comm/link_set.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <thread>
#include <utility>

#include "src/base/caught.hpp"
#include "src/base/log.hpp"
#include "src/exec/gpu/gpu_window.hpp"
#include "src/exec/opening_operation.hpp"
#include "transports/registry.hpp"

namespace hocket::comm {
namespace {

// What leaving may take: time for a slow peer to read what calls here have reported as sent.
constexpr std::chrono::seconds links_farewell{10};
constexpr std::chrono::milliseconds gpu_look{1};
// Each takes up to 4 MiB of a rank's memory, as long as the family lives.
constexpr std::size_t windows_max = 64;

}  // namespace

LinkSet::LinkSet(std::unique_ptr<Executor> executor, std::vector<std::unique_ptr<Transport>> transports, Rank size,
                 std::shared_ptr<RecordFile> records, std::shared_ptr<GpuWindow> gpu)
    : destroyed_(Code::aborted,
                 fmt::format("rank {} destroyed its communicator while operations were pending", executor->rank())),
      records_(std::move(records)),
      executor_(std::move(executor)),
      mesh_(std::move(transports), size),
      gpu_(std::move(gpu)) {}

Result<std::shared_ptr<LinkSet>> LinkSet::open(const Options& options, const Config& config) {
  const bool alone = options.size == 1;
  auto settings = RecordSettings::from_environment();
  if (!settings.ok()) return settings.status();
  const auto records = std::make_shared<RecordFile>(options, config.group, std::move(*settings));
  const auto gpu = std::make_shared<GpuWindow>();
  auto executor = Executor::make(
      {.rank = options.rank,
       .size = options.size,
       .alone = alone,
       .name = options.name,
       .says_name = config.says_name,
       .steps = records->settings().steps,
       .let_go = [gpu] { gpu->let_go(); },
       .on_break = [records](const Recording& recording) { (void)records->write(recording, RecordReason::broken); }});
  if (!executor.ok()) return executor.status();
  (*executor)->set_wait_budget(WaitBudget::until_placed(options.size, CoreSet::own().count()));
  std::vector<std::unique_ptr<Transport>> transports;
  if (!alone) {
    auto opened = open_transports(config.transport.empty() ? options.transport : config.transport,
                                  {.rank = options.rank,
                                   .size = options.size,
                                   .group = config.group,
                                   .listener = &(*executor)->listener(),
                                   .regions = config.regions,
                                   .streams = options.tuning.tcp_streams(),
                                   .tls = options.trust.tls ? &*options.trust.tls : nullptr,
                                   .secret = options.trust.secret});
    if (!opened.ok()) return opened.status();
    transports = std::move(*opened);
  }
  std::shared_ptr<LinkSet> link_set(
      new LinkSet(std::move(*executor), std::move(transports), options.size, records, gpu));
  if (Status attached = link_set->executor_->attach(link_set->mesh_); !attached.ok()) return attached;
  if (alone) return link_set;
  if (Status listening = link_set->record_on_signal(); !listening.ok()) return listening;
  if (records->settings().reports && options.reports) link_set->report(*options.reports, config.group);
  return link_set;
}

Status LinkSet::record_on_signal() {
  if (!records_->settings().signal) return {};
  auto listening = RecordOnSignal::start(*records_->settings().signal, [&executor = *executor_, records = records_] {
    try {
      (void)records->write(executor.recording(), RecordReason::signal);
    } catch (...) {  // memory ran out: the program goes on without a record
    }
  });
  if (!listening.ok()) return listening.status();
  record_on_signal_ = std::move(*listening);
  return {};
}

// A rank that cannot report goes on without.
void LinkSet::report(const ReportTarget& target, std::uint64_t group) {
  auto reporter =
      report_to(target, {.job = target.job, .group = group, .rank = rank()},
                {.report = [this, job = target.job] { return records_->report(job, executor_->recording()); },
                 .record = [this] { return records_->text_for_store(executor_->recording()); }});
  if (!reporter.ok()) return log::warn("a rank does not report to the store: " + reporter.status().message());
  reporter_ = std::make_unique<Attendant>(std::move(*reporter));
}

Status LinkSet::record(const std::string& file) const {
  const Recording recording = executor_->recording();
  if (!file.empty()) return records_->write_to(file, recording, RecordReason::request);
  if (!records_->settings().folder.empty()) return records_->write(recording, RecordReason::request);
  return {Code::invalid_argument, "path is null, and HOCKET_RECORD_DIR does not say where records are to be written"};
}

// A forked child must not speak for its parent, and has none of the executor's threads: it leaves all as it is.
LinkSet::~LinkSet() {
  if (::getpid() != owner_) {
    (void)executor_.release();
    (void)record_on_signal_.release();
    (void)reporter_.release();
    return;
  }
  record_on_signal_.reset();
  reporter_.reset();
  try {
    if (records_->settings().at_end && executor_->broken().ok()) {
      (void)records_->write(executor_->recording(), RecordReason::end);
    }
  } catch (...) {  // memory ran out: there is no record
  }
  try {
    finish_on_gpu();
  } catch (...) {  // memory ran out: close() lets go
  }
  executor_->stop(destroyed_);
  gpu_->close();
  windows_.clear();
  const Status why = executor_->broken();
  mesh_.shut_down(why, Deadline::after(why.ok() ? links_farewell : farewell_after_failure));
}

// What streams here still have to say is waited for by streams of others. Meanwhile links are looked at, as a peer that
// has ended breaks everything; and if it takes too long, the others learn that what they would find means nothing.
void LinkSet::finish_on_gpu() {
  GpuWindow& gpu = *gpu_;
  for (const Deadline deadline = Deadline::after(links_farewell); gpu.is_open() && executor_->broken().ok();) {
    Status done;
    const Status seen =
        executor_->with_exclusive_progress([&] { return done = gpu.finish(Deadline::after(gpu_look)); });
    if (done.ok()) {
      if (!seen.ok()) executor_->abort(seen, *executor_->first());  // a peer is lost: the cause, as it is
      return;
    }
    if (done.code() != Code::timeout) return abort(*executor_->first(), done.message());
    if (deadline.passed()) {
      return abort(*executor_->first(), "it was destroyed, and ten seconds later its work on a GPU was not done");
    }
    std::this_thread::sleep_for(gpu_look);  // for the thread that looks at the links
  }
}

void LinkSet::abort(const Context& context, std::string_view reason) {
  const Status why = caught_in([&] {
    return Status(Cause{
        .code = Code::aborted,
        .message = fmt::format("rank {} aborted the communicator{}{}", rank(), reason.empty() ? "" : ": ", reason),
        .rank = rank(),
        .peer = rank()});
  });
  executor_->abort(why, context);
}

// Whoever calls the transports hears first that a peer is lost, and must not keep that to itself.
void LinkSet::with_exclusive_progress(const std::function<void()>& work) {
  const Status seen = executor_->with_exclusive_progress([&] {
    work();
    return Status();
  });
  if (!seen.ok()) executor_->abort(seen, *executor_->first());  // the cause, as it is
}

void LinkSet::add_peer(Rank peer, const PeerInfo& info) {
  with_exclusive_progress([&] { mesh_.add_peer(peer, info.endpoints, info.process); });
}

void LinkSet::add_peers(std::span<const PeerInfo> peers) {
  with_exclusive_progress([&] {
    for (Rank peer = 0; peer < mesh_.size(); ++peer) {
      const PeerInfo& info = peers[static_cast<std::size_t>(peer)];
      mesh_.add_peer(peer, info.endpoints, info.process);
    }
  });
}

std::size_t LinkSet::descriptors_to_come() {
  std::size_t to_come = 0;
  with_exclusive_progress([&] { to_come = mesh_.descriptors_to_come(); });
  return to_come;
}

void LinkSet::look_at_links() {
  constexpr int looks_max = 1000;  // of links that are never at rest
  with_exclusive_progress([&] {
    for (int looks = 0; looks < looks_max && mesh_.progress() > 0;) ++looks;
  });
}

void LinkSet::close_unused_doors() {
  if (mesh_.size() == 1) return;
  with_exclusive_progress([&] { mesh_.close_unused_doors(rank()); });
}

Transport* LinkSet::window_transport(std::span<const Rank> members) const {
  return members.size() == 1 ? nullptr : mesh_.routes().window_transport(members);
}

WindowUse* LinkSet::find_window(std::span<const Rank> members) {
  const std::lock_guard lock(keeping_windows_);
  const auto found = windows_.find(std::vector<Rank>(members.begin(), members.end()));
  return found != windows_.end() ? &found->second.use : nullptr;
}

Result<WindowUse*> LinkSet::open_first_window(std::span<const Rank> members, const DirectSetting& setting,
                                              Deadline deadline) {
  Transport* const transport = window_transport(members);
  if (transport == nullptr) return nullptr;
  Result<WindowUse*> use = nullptr;
  const Status seen = executor_->with_exclusive_progress([&] {
    auto window = transport->open_window(0, members, deadline);
    use = window.ok() ? keep_window(std::move(*window), *transport, members, setting, deadline) : window.status();
    if (!use.ok()) return use.status();
    (*use)->gpu = gpu_;
    executor_->use_window(*(*use)->window);
    transport->store_past_caches(exceeding_message_bytes(setting, members.size()));
    transport->leave_in_place(plain_messages(setting, (*use)->window->plain_reads(), members.size()));
    return Status();
  });
  if (use.ok() && !seen.ok()) executor_->abort(seen, *executor_->first());  // a peer is lost: the cause, as it is
  return seen.ok() ? use : seen;
}

Result<WindowUse*> LinkSet::open_window(const Context& context, std::span<const Rank> members,
                                        const DirectSetting& setting, Deadline deadline) {
  Transport* const transport = window_transport(members);
  WindowUse* use = transport != nullptr ? find_window(members) : nullptr;
  if (transport == nullptr || use != nullptr) return use;
  Status refusal;
  const auto begin = [&](Deadline until) -> Result<std::unique_ptr<WindowOpening>> {
    Status unfit;
    if (windows_.size() >= windows_max) {
      unfit = {Code::out_of_resources, fmt::format("it has {} windows with other members already", windows_max)};
    }
    return transport->begin_window(context.number(), members, until, unfit);
  };
  const auto end = [&](Result<std::unique_ptr<Window>> window) {
    refusal = window.status();
    if (!window.ok()) return refusal.code() == Code::out_of_resources ? Status() : refusal;
    const auto kept = keep_window(std::move(*window), *transport, members, setting, deadline);
    if (!kept.ok()) return kept.status();
    executor_->use_several_windows();
    use = *kept;
    return Status();
  };
  // Not the child's own, whose calls are its caller's.
  const auto own = std::make_shared<Context>(context.identity(), static_cast<Rank>(context.identity().peers.size()));
  own->begin_with_number_0();
  const std::shared_ptr<Operation> opening = std::make_shared<OpeningOperation>(own, begin, end);
  opening->bind({.signature = {.kind = SignatureKind::split}, .reduction = {}, .timeout = deadline.remaining()});
  if (Status ran = executor_->run({&opening, 1}); !ran.ok()) return ran;
  if (!refusal.ok()) {
    log::warn(fmt::format("a communicator runs over links, not over memory: {}", refusal.message()));
  }
  return use;
}

Result<WindowUse*> LinkSet::keep_window(std::unique_ptr<Window> window, const Transport& transport,
                                        std::span<const Rank> members, const DirectSetting& setting,
                                        Deadline deadline) {
  // A rank that breaks tells at once all members that it is connected with.
  for (const Rank member : members) {
    if (!transport.connected(member)) continue;
    if (auto link = mesh_.link(member, deadline); !link.ok()) return link.status();
  }
  const std::lock_guard lock(keeping_windows_);
  SharedWindow& kept = windows_[std::vector<Rank>(members.begin(), members.end())];
  if (kept.window != nullptr) {  // in use: two splits into these ranks went on at once
    return Status(Code::mismatch,
                  "two splits into the same ranks were under way at once: two ranks make the calls in "
                  "which both take part one after the other");
  }
  kept.window = std::move(window);
  kept.use.window = kept.window.get();
  kept.use.transport = transport.name();
  kept.use.setting = setting;
  kept.use.names = &executor_->listener();
  return &kept.use;
}

void LinkSet::use_number(std::uint32_t agreed) {
  std::uint32_t latest = latest_number_;
  while (latest < agreed && !latest_number_.compare_exchange_weak(latest, agreed)) {
  }
}

}  // namespace hocket::comm
