// Communicators made from others: agreement by two allgathers on the parent, the second of where the children's ranks
// can be reached. Then each child connects its own ring and opens its own window.
#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "src/comm/communicator.hpp"
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
  std::vector<SplitWish> wishes(static_cast<std::size_t>(options_.size));
  SplitWish& own = wishes[static_cast<std::size_t>(options_.rank)];
  own = request.wish;
  own.group = random_group();
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

  std::unique_ptr<Communicator> child;
  Status opened;
  if (options.size > 0) {
    child.reset(new Communicator(options, regions_));
    opened = child->open(group->group, hub_.get());
  }
  if (!group->all_alone) {
    const bool connects = opened.ok() && options.size > 1;
    Result<MemberCard> mine = opened.ok() ? Result<MemberCard>(MemberCard()) : Result<MemberCard>(opened);
    if (connects) {
      mine = mesh_->cards()[static_cast<std::size_t>(options_.rank)];
      mine->doors = child->mesh_->doors();
    }
    auto cards = exchange_cards(mine, group->members, deadline);
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
  return operation.ok() ? executor_->run({&*operation, 1}) : operation.status();
}

// The cards of `members` for their new communicator, in its order. A member's failure to open its doors is that of all.
Result<std::vector<MemberCard>> Communicator::exchange_cards(const Result<MemberCard>& mine,
                                                             const std::vector<Rank>& members, Deadline deadline) {
  std::vector<std::byte> all(static_cast<std::size_t>(options_.size) * member_card_bytes_max);
  const auto block_of = [&](Rank rank) {
    return CardBlock(all.data() + static_cast<std::size_t>(rank) * member_card_bytes_max, member_card_bytes_max);
  };
  const Status put = put_card(block_of(options_.rank), mine);
  if (!put.ok()) (void)put_card(block_of(options_.rank), put);
  if (Status status = share(all, deadline); !status.ok()) return status;
  std::vector<MemberCard> cards;
  for (const Rank member : members) {
    auto card = take_card(block_of(member));
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
  auto executor = Executor::make({.rank = options_.rank, .alone = options_.size == 1, .name = options_.name});
  if (!executor.ok()) return executor.status();
  std::vector<std::unique_ptr<Transport>> transports;
  const TransportConfig config{.rank = options_.rank,
                               .size = options_.size,
                               .group = group,
                               .listener = executor->get(),
                               .regions = regions_,
                               .streams = options_.tuning.tcp_streams()};
  if (options_.size > 1 && parent_hub != nullptr) {
    hub_ = parent_hub->child(group, options_.size);
    auto transport = hub_->make_transport(config);
    if (!transport.ok()) return transport.status();
    transports.push_back(std::move(*transport));
  } else if (options_.size > 1) {
    auto opened = open_transports(options_.transport, config);
    if (!opened.ok()) return opened.status();
    transports = std::move(*opened);
  }
  return adopt(std::move(*executor), std::move(transports));
}

// Connects the ring of a child, over which each rank's end is noticed, and sees that all are there.
Status Communicator::connect(std::vector<MemberCard> cards, Deadline deadline) {
  mesh_->set_cards(cards);
  std::vector<std::byte> all(static_cast<std::size_t>(options_.size));
  if (Status status = allgather_on_ring(all, deadline); !status.ok()) return status;
  return hub_ ? Status() : settle(std::move(cards), deadline);
}

}  // namespace hocket
