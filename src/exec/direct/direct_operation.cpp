#include "src/exec/direct/direct_operation.hpp"

#include <type_traits>
#include <utility>

#include "src/exec/recorder.hpp"

namespace hocket {
namespace {

constexpr std::uint64_t calls_per_tidying = 64;

template <class Path>
constexpr bool is_a_path = !std::is_same_v<std::remove_cvref_t<Path>, std::monostate>;

}  // namespace

DirectOperation::DirectOperation(WindowUse& use, std::shared_ptr<Context> context)
    : Operation(std::move(context), use.window), run_(use, binding(), this->context()), announcer_(run_) {}

Status DirectOperation::mark_streams() {
  return binding().device ? binding().device->call.mark() : Status();
}

// Every small call runs these two, so they are no calls.
[[gnu::always_inline]] inline void DirectOperation::choose_path(Counters& counters) {
  if (!announcer_.payloads_go_along() || !run_.is_over_at_once) return choose_longer_path(counters);
  set_path(1 + static_cast<std::uint32_t>(DirectPath::one_shot));
  run_.count_exchanged();
  phase_ = move_at_once(run_) ? Phase::done : Phase::failed;
}

void DirectOperation::choose_longer_path(Counters& counters) {
  const DirectPath path = announcer_.path();
  set_path(1 + static_cast<std::uint32_t>(path));
  if (run_.may_meet_links) {
    Tag called = tag();
    called.sequence = run_.use.sequence(run_.turn);  // where it runs inside another operation, that one's number
    context().remember(called);
  }
  if (run_.exchange.rounds() == 0) {  // everybody has announced, and nothing is to be moved
    phase_ = Phase::done;
    return;
  }
  run_.count_exchanged();
  if (path == DirectPath::one_shot) {
    phase_ = move_at_once(run_) ? Phase::done : Phase::failed;
    return;
  }
  announcer_.settle_waking();
  begin_path(path, counters);
}

// Where it is over then, waking the others may still be due.
[[gnu::always_inline]] inline bool DirectOperation::meet(Counters& counters) {
  bool announced = false;  // something happened: a member that is about to sleep owes the others a waking
  if (!announcer_.announced()) {
    if (!announcer_.announce(counters)) return false;
    announced = true;
  }
  if (!announcer_.hear_all()) return announced;
  choose_path(counters);
  return true;
}

bool DirectOperation::meet_and_wake(Counters& counters) {
  const bool happened = meet(counters);
  if (phase_ != Phase::meet) announcer_.settle_waking();
  return happened;
}

// Few calls come here, and the others are not to pay for it.
[[gnu::noinline]] void DirectOperation::tidy() {
  run_.window().tidy();
}

// Where the call is like the one before, and small. What is over then is recorded as one moment.
RanNow DirectOperation::run_now(Recorder& recorder) {
  if (is_bound_anew() || !run_.is_small) return RanNow::nothing;
  number_collective();
  if (sequence() % calls_per_tidying == 0) [[unlikely]]
    tidy();  // it uses nobody's region itself
  announcer_.begin(static_cast<std::uint32_t>(sequence()));
  set_record(nullptr);
  phase_ = Phase::meet;
  meet(context().counters());
  if (phase_ == Phase::done) [[likely]] {
    announcer_.leave_waking();
    recorder.add(*this, tag());
    return RanNow::over;
  }
  if (phase_ != Phase::meet) announcer_.settle_waking();
  keep_links(true);
  if (!run_.failure.ok()) fail(run_.failure);
  recorder.begin(*this, tag());
  return RanNow::begun;
}

Status DirectOperation::start(const Tag& tag, Peers&) {
  if (binding().device) set_buffers(binding().device->input, binding().device->output);
  run_.window().tidy();  // one operation at a time runs over a window
  if (!run_.begin(tag, is_bound_anew())) set_path(0);
  run_.settle_place_of_payload();
  announcer_.begin(tag.sequence);
  phase_ = Phase::meet;
  keep_links(is_small());
  if (run_.puts_in_line) {  // mostly it is over at once
    meet_and_wake(context().counters());
    if (!run_.failure.ok()) fail(run_.failure);
  }
  return {};
}

bool DirectOperation::advance(Counters& counters) {
  bool happened = phase_ == Phase::meet && meet_and_wake(counters);
  if (phase_ == Phase::move && run_.failure.ok()) happened |= move(counters);
  if (!run_.failure.ok()) fail(run_.failure);
  return happened;
}

void DirectOperation::begin_path(DirectPath path, Counters& counters) {
  phase_ = Phase::move;
  run_.cut_for(path);
  switch (path) {
    case DirectPath::one_shot: break;
    case DirectPath::pooled: path_.emplace<PooledPath>(run_); break;
    case DirectPath::mapped: path_.emplace<MappedPath>(run_, announcer_); break;
    case DirectPath::single_copy: path_.emplace<SingleCopyPath>(run_, announcer_, counters); break;
    case DirectPath::staged: choose_staged(); break;
    case DirectPath::gpu: path_.emplace<GpuPath>(run_, announcer_); break;
  }
}

// What lies on a GPU comes to the host first.
void DirectOperation::choose_staged() {
  if (!binding().device) {
    path_.emplace<StagedPath>(run_);
    return;
  }
  const DeviceData& data = *binding().device;
  auto mirror = HostMirror::make(data.lanes, data.call, data.layout);
  if (!mirror.ok()) return run_.fail(mirror.status());
  set_buffers((*mirror)->memory() + data.input_at, (*mirror)->memory() + data.output_at);
  path_.emplace<MirroredPath>(run_, std::move(*mirror));
}

bool DirectOperation::move(Counters& counters) {
  const bool happened = std::visit(
      [&](auto& path) {
        if constexpr (is_a_path<decltype(path)>) {
          const bool moved = path.advance(counters);
          if (path.done()) phase_ = Phase::done;
          return moved;
        } else {
          return false;
        }
      },
      path_);
  // Its pinned memory is for other calls now, while this operation may stay idle for long.
  if (phase_ == Phase::done && std::holds_alternative<MirroredPath>(path_)) path_.emplace<std::monostate>();
  return happened;
}

bool DirectOperation::waits_for_device() const {
  const auto waits = [](const auto& path) {
    if constexpr (requires { path.waits_for_device(); }) return path.waits_for_device();
    return false;
  };
  return phase_ == Phase::move && std::visit(waits, path_);
}

// Nothing wakes the host when work on a device is done.
Deadline DirectOperation::next_look() const {
  return waits_for_device() ? Deadline::after(device_look_interval) : Deadline::never();
}

MemberSet DirectOperation::awaited_members() const {
  if (phase_ == Phase::meet) return announcer_.awaited_members();
  const auto awaited_by = [](const auto& path) {
    if constexpr (requires { path.awaited_members(); }) return path.awaited_members();
    return all_members;
  };
  return phase_ == Phase::move ? std::visit(awaited_by, path_) : all_members;
}

Operation::Missing DirectOperation::missing() const {
  if (waits_for_device()) return {.peers = {}, .text = std::string(waits_for_own_stream)};
  return announcer_.missing([&](std::uint32_t member) {
    return std::visit(
        [&](const auto& path) {
          if constexpr (is_a_path<decltype(path)>) return path.has_done_its_part(member);
          return true;
        },
        path_);
  });
}

Rank DirectOperation::awaited() const {
  std::uint32_t member = phase_ == Phase::meet ? announcer_.next_member() : run_.members;
  if (phase_ == Phase::move && !waits_for_device()) {
    const auto has_done_its_part = [&](const auto& path) {
      if constexpr (is_a_path<decltype(path)>) return path.has_done_its_part(member);
      return true;
    };
    for (member = 0; member < run_.members; ++member) {
      if (member != run_.self && !std::visit(has_done_its_part, path_)) break;
    }
  }
  return member < run_.members ? static_cast<Rank>(member) : no_rank;
}

std::string_view DirectOperation::algorithm() const {
  const std::uint32_t path = detail().path;
  return path == 0 ? std::string_view() : name_of(static_cast<DirectPath>(path - 1));
}

void DirectOperation::withdraw() {
  if (phase_ != Phase::done && phase_ != Phase::failed) announcer_.withdraw();
}

}  // namespace hocket
