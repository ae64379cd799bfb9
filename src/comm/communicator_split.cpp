// Communicators made from others: agreement by two allgathers on the parent, the second of where the children's ranks
// can be reached. Then each child connects its own ring and opens its own window.
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <ranges>

#include "src/comm/communicator.hpp"
#include "src/comm/host_placement.hpp"
#include "src/comm/split.hpp"
#include "transports/loopback/loopback_hub.hpp"

namespace hocket {
namespace {

std::uint64_t random_group() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

}  // namespace

Result<std::unique_ptr<Communicator>> Communicator::split(const SplitRequest& request, const std::stop_token& stop) {
  const auto timeout = request.timeout.count() > 0 ? request.timeout : options_.timeout;
  const auto deadline = Deadline::after(timeout);
  const std::stop_callback give_up(stop, [this] { abort("a split was given up"); });
  const bool shares = request.wish.links == LinkUse::parents;
  std::vector<SplitArguments> wishes(static_cast<std::size_t>(options_.size));
  SplitArguments& own = wishes[static_cast<std::size_t>(options_.rank)];
  own = request.wish;
  own.id = shares ? link_set_->propose_number() : random_group();
  if (Status status = share(std::as_writable_bytes(std::span(wishes)), deadline); !status.ok()) return status;
  const auto group = child_of(wishes, options_.rank);
  if (!group.ok()) return group.status();

  Options options = options_;
  options.store.clear();
  options.serve_host.clear();
  options.timeout = timeout;
  options.rank = group->rank;
  options.size = static_cast<Rank>(group->members.size());
  const int number = ++children_;
  options.name =
      !request.name.empty() ? request.name : fmt::format("{}/{} {}", options_.name, name_of(own.kind), number);
  if (request.name.empty() && own.kind == SplitKind::split) options.name += fmt::format(" color {}", own.color);
  return shares ? share_links(std::move(options), *group) : connect_child(std::move(options), *group, deadline, stop);
}

// A child on this communicator's link set; of one rank, it needs none.
Result<std::unique_ptr<Communicator>> Communicator::share_links(Options options, const ChildGroup& group) {
  const auto number = static_cast<std::uint32_t>(group.id);
  link_set_->settle_number(number);
  executor().say_names();
  std::unique_ptr<Communicator> child;
  if (group.members.empty()) return child;
  child.reset(new Communicator(std::move(options), regions_));
  if (group.members.size() == 1) {
    Status opened = child->open(0, nullptr);
    return opened.ok() ? Result<std::unique_ptr<Communicator>>(std::move(child)) : opened;
  }
  Context::Identity identity{.number = number, .name = child->options_.name};
  for (const Rank member : group.members) identity.peers.push_back(context_->peer_of(member));
  child->link_set_ = link_set_;
  if (link_set_->hub() == nullptr) {
    std::vector<PeerInfo> cards;
    for (const Rank peer : identity.peers) cards.push_back(link_set_->mesh().cards()[static_cast<std::size_t>(peer)]);
    const HostPlacement placement(cards, group.rank);
    child->topology_ = placement.topology();
    child->scarce_cores_ = placement.scarce_cores();
  }
  const auto all_ranks = std::views::iota(Rank{0}, static_cast<Rank>(link_set_->mesh().cards().size()));
  if (std::ranges::equal(identity.peers, all_ranks)) child->window_use_ = link_set_->window_use();
  child->context_ = executor().add(std::move(identity));
  return child;
}

// A child with a link set of its own: its ranks tell each other where they can be reached now.
Result<std::unique_ptr<Communicator>> Communicator::connect_child(Options options, const ChildGroup& group,
                                                                  Deadline deadline, const std::stop_token& stop) {
  std::unique_ptr<Communicator> child;
  Status opened;
  const Rank size = options.size;
  if (size > 0) {
    child.reset(new Communicator(std::move(options), regions_));
    opened = child->open(group.id, link_set_->hub());
  }
  if (!group.all_alone) {
    const bool connects = opened.ok() && size > 1;
    Result<PeerInfo> mine = opened.ok() ? Result<PeerInfo>(PeerInfo()) : Result<PeerInfo>(opened);
    if (connects) {
      mine = link_set_->mesh().cards()[static_cast<std::size_t>(link_set_->rank())];
      mine->doors = child->link_set_->mesh().doors();
    }
    auto cards = exchange_peer_infos(mine, group.members, deadline);
    if (!opened.ok()) return opened;
    if (!cards.ok()) return cards.status();
    if (connects) {
      const std::stop_callback give_up_child(stop, [&child] { child->abort("its creation was given up"); });
      opened = child->connect(std::move(*cards), deadline);
    }
  }
  if (!opened.ok()) return opened;
  return child;
}

// Every rank's block to every rank, over this communicator; `all` holds this rank's in its place.
Status Communicator::share(std::span<std::byte> all, Deadline deadline) {
  const std::size_t block = all.size() / static_cast<std::size_t>(options_.size);
  const auto remaining = std::chrono::duration_cast<std::chrono::milliseconds>(deadline.remaining()).count();
  auto operation = prepare({.collective = Collective::allgather,
                            .send = all.data() + static_cast<std::size_t>(options_.rank) * block,
                            .recv = all.data(),
                            .count = block,
                            .timeout_ms = std::max<std::int64_t>(remaining, 1),
                            .of_split = true});
  return operation.ok() ? run({&*operation, 1}) : operation.status();
}

// The cards of `members` for their new communicator, in its order. A member's failure to open its doors is that of all.
Result<std::vector<PeerInfo>> Communicator::exchange_peer_infos(const Result<PeerInfo>& mine,
                                                                const std::vector<Rank>& members, Deadline deadline) {
  std::vector<std::byte> all(static_cast<std::size_t>(options_.size) * peer_info_bytes_max);
  const auto block_of = [&](Rank rank) {
    return PeerInfoBlock(all.data() + static_cast<std::size_t>(rank) * peer_info_bytes_max, peer_info_bytes_max);
  };
  const Status put = write_peer_info(block_of(options_.rank), mine);
  if (!put.ok()) (void)write_peer_info(block_of(options_.rank), put);
  if (Status status = share(all, deadline); !status.ok()) return status;
  std::vector<PeerInfo> cards;
  for (const Rank member : members) {
    auto card = read_peer_info(block_of(member));
    if (!card.ok()) {
      return Status(Cause{.code = card.status().code(),
                          .message = fmt::format("rank {} of \"{}\" could not join its new communicator: {}", member,
                                                 options_.name, card.status().message()),
                          .rank = member,
                          .peer = member});
    }
    cards.push_back(std::move(*card));
  }
  return cards;
}

// Makes this rank reachable for the other members of a child; of one rank, there is nobody to reach it.
Status Communicator::open(std::uint64_t group, LoopbackHub* parent_hub) {
  auto executor =
      Executor::make({.rank = options_.rank, .alone = options_.size == 1, .name = options_.name, .says_name = true});
  if (!executor.ok()) return executor.status();
  std::vector<std::unique_ptr<Transport>> transports;
  std::shared_ptr<LoopbackHub> hub;
  const TransportConfig config{.rank = options_.rank,
                               .size = options_.size,
                               .group = group,
                               .listener = &(*executor)->listener(),
                               .regions = regions_,
                               .streams = options_.tuning.tcp_streams()};
  if (options_.size > 1 && parent_hub != nullptr) {
    hub = parent_hub->child(group, options_.size);
    auto transport = hub->make_transport(config);
    if (!transport.ok()) return transport.status();
    transports.push_back(std::move(*transport));
  } else if (options_.size > 1) {
    auto opened = open_transports(options_.transport, config);
    if (!opened.ok()) return opened.status();
    transports = std::move(*opened);
  }
  return adopt(std::move(*executor), std::move(transports), std::move(hub));
}

// Connects the ring of a child, over which each rank's end is noticed, and sees that all are there.
Status Communicator::connect(std::vector<PeerInfo> cards, Deadline deadline) {
  link_set_->mesh().set_peer_infos(cards);
  std::vector<std::byte> all(static_cast<std::size_t>(options_.size));
  if (Status status = allgather_on_ring(all, deadline); !status.ok()) return status;
  return link_set_->hub() != nullptr ? Status() : settle(std::move(cards), deadline);
}

}  // namespace hocket
