#include "transports/loopback/loopback_hub.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "src/base/random.hpp"
#include "src/base/wake_event.hpp"
#include "transports/loopback/loopback_transport.hpp"
#include "transports/loopback/loopback_wire.hpp"

namespace hocket {
namespace loopback {
bool Mailbox::open() {
  wake_event = UniqueFd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  alarm = UniqueFd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  return wake_event && alarm;
}

void Direction::withdraw() {
  const auto first =
      std::find_if(parcels.begin(), parcels.end(), [](const Parcel& parcel) { return parcel.borrowed(); });
  parcels.erase(first, parcels.end());
}

void Mailbox::ring() {
  const std::lock_guard lock(mutex);
  if (!armed) return;
  armed = false;
  rung = true;
  set_event(wake_event);
}

void Mailbox::raise() {
  ring();
  const std::lock_guard lock(mutex);
  if (!alarmed && alarm) set_event(alarm);
  alarmed = true;
}

void Mailbox::quiet() {
  const std::lock_guard lock(mutex);
  armed = false;
  if (std::exchange(rung, false)) clear_event(wake_event);
  if (std::exchange(alarmed, false)) clear_event(alarm);
}

}  // namespace loopback

namespace {

// The hubs of this process that have a group.
struct Hubs {
  std::mutex mutex;
  std::map<std::uint64_t, std::weak_ptr<LoopbackHub>> by_group;  // guarded by mutex
};

}  // namespace

LoopbackHub::LoopbackHub(Rank size, std::vector<LoopbackFault> faults)
    : size_(size), name_(fmt::format("loopback {:016x} ", random_number())), faults_(std::move(faults)) {
  const auto ranks = static_cast<std::size_t>(size);
  for (std::size_t i = 0; i < ranks; ++i) mailboxes_.push_back(std::make_unique<loopback::Mailbox>());
  for (std::size_t i = 0; i < ranks * ranks; ++i) wires_.push_back(std::make_unique<loopback::Wire>());
}

LoopbackHub::~LoopbackHub() = default;

Result<std::unique_ptr<Transport>> LoopbackHub::make_transport(const TransportConfig& config) {
  if (config.size != size_ || config.rank < 0 || config.rank >= size_) {
    return Status(Code::invalid_argument, fmt::format("rank {} of {} does not belong to a loopback hub of {}",
                                                      config.rank, config.size, size_));
  }
  loopback::Mailbox& box = mailbox(config.rank);
  auto absent = loopback::Mailbox::State::absent;
  if (!box.state.compare_exchange_strong(absent, loopback::Mailbox::State::present)) {
    return Status(Code::invalid_argument, fmt::format("rank {} has its loopback transport already", config.rank));
  }
  {
    const std::lock_guard lock(box.mutex);
    if (!box.open()) {
      return Status(Code::out_of_resources, "no descriptor is left for loopback: raise the limit of open files");
    }
  }
  return std::unique_ptr<Transport>(std::make_unique<loopback::LoopbackTransport>(shared_from_this(), config));
}

std::shared_ptr<LoopbackHub> LoopbackHub::of_group(std::uint64_t group, Rank size) {
  static Hubs& hubs = *new Hubs;  // never destroyed: threads may outlive the end of main()
  const std::lock_guard lock(hubs.mutex);
  std::erase_if(hubs.by_group, [](const auto& entry) { return entry.second.expired(); });
  if (auto known = hubs.by_group[group].lock()) return known;
  auto made = std::make_shared<LoopbackHub>(size);
  hubs.by_group[group] = made;
  return made;
}

loopback::Wire& LoopbackHub::wire(Rank a, Rank b) {
  const Rank low = std::min(a, b);
  const Rank high = std::max(a, b);
  return *wires_[static_cast<std::size_t>(low) * static_cast<std::size_t>(size_) + static_cast<std::size_t>(high)];
}

LoopbackFault LoopbackHub::fault(Rank from, Rank to) const {
  for (const LoopbackFault& fault : faults_) {
    if (fault.from == from && fault.to == to) return fault;
  }
  return {.from = from, .to = to};
}

}  // namespace hocket
