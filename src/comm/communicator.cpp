#include "src/comm/communicator.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/log.hpp"
#include "src/comm/host_placement.hpp"
#include "src/comm/own_input.hpp"
#include "src/comm/rendezvous.hpp"
#include "src/comm/validate.hpp"
#include "src/exec/reduce.hpp"
#include "src/store/open_store.hpp"
#include "src/store/store_server.hpp"
#include "transports/loopback/loopback_hub.hpp"
#include "transports/registry.hpp"

namespace hocket {

namespace {

constexpr std::size_t plans_kept = 256;
constexpr std::size_t operations_kept = 16;
constexpr std::chrono::seconds stranger{5};  // how long what listens on the store's port has to show that it is one
constexpr std::chrono::seconds farewell{1};  // what leaving may take
constexpr std::size_t vector_slice_bytes = std::size_t{512} << 10;

Status at_creation(const Status& status, Rank rank) {
  if (status.cause().rank != no_rank) return status;
  Cause cause = status.cause();
  cause.rank = rank;
  if (cause.operation.empty()) cause.operation = "create";
  return Status(std::move(cause));
}

}  // namespace

Communicator::Communicator(Options options, const RegionTable* regions)
    : options_(std::move(options)), regions_(regions), plans_(plans_kept) {}

// Where the link set ends here, so do the operations that still run, before what they use does.
// What is pending ends with the link set, and functions that are called then may still ask this communicator: so it
// goes on pointing there, but does not own it.
Communicator::~Communicator() {
  const std::shared_ptr<LinkSet> owner = std::exchange(link_set_, {std::shared_ptr<void>(), link_set_.get()});
}

// ---- creation -------------------------------------------------------------------------------------------------------

Result<std::unique_ptr<Communicator>> Communicator::create(const Options& options, const RegionTable& regions,
                                                           const std::stop_token& stop) {
  std::unique_ptr<Communicator> made(new Communicator(options, &regions));
  const auto deadline = Deadline::after(options.timeout);
  Status status;
  if (options.size == 1) {
    auto executor = Executor::make({.rank = 0, .alone = true, .name = options.name});
    status = executor.ok() ? made->adopt(std::move(*executor), {}) : executor.status();
  } else {
    status = made->find_others(deadline, stop);
  }
  if (!status.ok()) return at_creation(status, options.rank);
  return made;
}

// Meets the others, again if the store went away meanwhile: it may have been that of an earlier communicator, which
// rank 0 had not destroyed yet.
Status Communicator::find_others(Deadline deadline, const std::stop_token& stop) {
  for (;;) {
    Status status = meet(deadline, stop);
    const bool store_lost = status.code() == Code::store_unreachable && status.cause().peer == no_rank;
    if (status.ok() || !store_lost || deadline.passed()) {
      if (!status.ok() && server_)
        (void)server_->wait_until_no_clients(Deadline::after(farewell));  // let them read why
      return status;
    }
    link_set_.reset();
  }
}

Status Communicator::meet(Deadline deadline, const std::stop_token& stop) {
  Status taken;
  if (!options_.serve_host.empty() && !server_) {
    auto server = StoreServer::start(options_.serve_host, options_.serve_port);
    if (server.ok()) {
      server_ = std::move(*server);
    } else if (server.status().code() == Code::address_in_use) {
      taken = server.status();  // perhaps by a store: that of an earlier communicator of this process, or a daemon
    } else {
      return server.status();
    }
  }
  auto store = open_store(options_.store, taken.ok() ? deadline : earlier(deadline, Deadline::after(stranger)), stop);
  if (!store.ok() && !taken.ok()) {
    return {Code::address_in_use, fmt::format("{}; what listens there is no store of Hocket's", taken.message())};
  }
  if (!store.ok()) return store.status();
  auto rendezvous = Rendezvous::join(**store, options_, deadline, stop);
  if (!rendezvous.ok()) return rendezvous.status();

  const Status status = [&]() -> Status {
    auto executor = Executor::make({.rank = options_.rank, .name = options_.name});
    if (!executor.ok()) return executor.status();
    auto transports = open_transports(options_.transport, {.rank = options_.rank,
                                                           .size = options_.size,
                                                           .group = (*rendezvous)->group(),
                                                           .listener = &(*executor)->listener(),
                                                           .regions = regions_,
                                                           .streams = options_.tuning.tcp_streams()});
    if (!transports.ok()) return transports.status();
    if (Status adopted = adopt(std::move(*executor), std::move(*transports)); !adopted.ok()) return adopted;
    const std::stop_callback give_up(stop, [this] { abort("its creation was given up"); });
    PeerInfo mine{.doors = link_set_->mesh().doors(),
                  .host = host_identity(),
                  .algorithm = options_.algorithms.summary(),
                  .tuning = options_.tuning.digest(),
                  .deterministic = options_.deterministic,
                  .cores = CoreSet::own()};
    if (Status published = (*rendezvous)->publish(mine); !published.ok()) return published;
    std::vector<PeerInfo> cards(static_cast<std::size_t>(options_.size));
    for (const Rank neighbour :
         {(options_.rank + 1) % options_.size, (options_.rank + options_.size - 1) % options_.size}) {
      auto card = (*rendezvous)->peer_info_of(neighbour);
      if (!card.ok()) return card.status();
      cards[static_cast<std::size_t>(neighbour)] = std::move(*card);
    }
    link_set_->mesh().set_peer_infos(std::move(cards));
    return introduce(mine, deadline);
  }();
  if (status.ok()) {
    (*rendezvous)->finish();
  } else {
    (*rendezvous)->fail(status);
  }
  return status;
}

Status Communicator::adopt(std::unique_ptr<Executor> executor, std::vector<std::unique_ptr<Transport>> transports,
                           std::shared_ptr<LoopbackHub> hub) {
  executor->set_wait_budget(WaitBudget::for_ranks(options_.size, CoreSet::own().count()));
  auto link_set = LinkSet::make(std::move(executor), std::move(transports), std::move(hub));
  if (!link_set.ok()) return link_set.status();
  link_set_ = std::move(*link_set);
  context_ = link_set_->executor().first();
  return {};
}

// Connects to both neighbours and learns everyone's card by a ring allgather, so the store is not needed any more. The
// ring of connections stays: each rank's end is noticed by two others, who pass it on.
Status Communicator::introduce(const PeerInfo& mine, Deadline deadline) {
  const auto size = static_cast<std::size_t>(options_.size);
  std::vector<std::byte> all(size * peer_info_bytes_max);
  const auto block_of = [&](std::size_t rank) {
    return PeerInfoBlock(all.data() + rank * peer_info_bytes_max, peer_info_bytes_max);
  };
  if (Status status = write_peer_info(block_of(static_cast<std::size_t>(options_.rank)), mine); !status.ok())
    return status;
  if (Status status = allgather_on_ring(all, deadline); !status.ok()) return status;

  std::vector<PeerInfo> cards(size);
  for (std::size_t rank = 0; rank < size; ++rank) {
    auto card = read_peer_info(block_of(rank));
    if (!card.ok()) return card.status();
    cards[rank] = std::move(*card);
    if (Status agreed = agrees(cards[rank], static_cast<Rank>(rank)); !agreed.ok()) return agreed;
  }
  return settle(std::move(cards), deadline);
}

// Whether the rank that the card is of was given the same options as this one.
Status Communicator::agrees(const PeerInfo& card, Rank rank) const {
  const auto differs = [&](std::string why) {
    return Status(Cause{.code = Code::mismatch, .message = std::move(why), .peer = rank});
  };
  const std::string algorithms = options_.algorithms.summary(), tuning = options_.tuning.digest();
  if (card.algorithm != algorithms) {
    return differs(
        fmt::format("rank {} was told to use algorithm \"{}\", rank {} \"{}\": set HOCKET_ALGORITHM alike on "
                    "all ranks",
                    options_.rank, algorithms, rank, card.algorithm));
  }
  if (card.tuning != tuning) {
    const auto tables = [](const std::string& digest) {
      return digest.empty() ? "no tables" : fmt::format("tables with digest {}", digest);
    };
    return differs(
        fmt::format("rank {} read {} of algorithms, rank {} {}: give all ranks the same file in HOCKET_TUNING",
                    options_.rank, tables(tuning), rank, tables(card.tuning)));
  }
  if (card.deterministic != options_.deterministic) {
    const bool here = options_.deterministic;
    return differs(
        fmt::format("rank {} was created in deterministic mode, rank {} was not: set options.deterministic "
                    "or HOCKET_DETERMINISTIC alike on all ranks",
                    here ? options_.rank : rank, here ? rank : options_.rank));
  }
  return {};
}

// An allgather in place over the neighbours alone, for the time before all cards are known.
Status Communicator::allgather_on_ring(std::span<std::byte> all, Deadline deadline) {
  const std::size_t block = all.size() / static_cast<std::size_t>(options_.size);
  const Algorithm* ring = find_algorithm(Collective::allgather, "ring");
  std::unique_lock lock(plans_mutex_);
  auto operation = operation_for({.algorithm = ring,
                                  .rank = options_.rank,
                                  .size = options_.size,
                                  .count = block,
                                  .placement = Placement::in_place});
  lock.unlock();
  operation->bind({.input = all.data() + static_cast<std::size_t>(options_.rank) * block,
                   .output = all.data(),
                   .signature = {.collective = Collective::allgather, .count = block},
                   .reduction = {},
                   .timeout = deadline.remaining()});
  const std::shared_ptr<Operation> running = std::move(operation);
  return executor().run({&running, 1});
}

// Arranges itself with the others, once all cards are known.
Status Communicator::settle(std::vector<PeerInfo> cards, Deadline deadline) {
  const HostPlacement placement(cards, options_.rank);
  topology_ = placement.topology();
  scarce_cores_ = placement.scarce_cores();
  link_set_->executor().set_wait_budget(placement.wait_budget());
  link_set_->mesh().set_peer_infos(std::move(cards));
  const Status opened =
      link_set_->open_window({.single_copy = options_.single_copy, .shares_work = scarce_cores_ != 0}, deadline);
  window_use_ = link_set_->window_use();
  return opened;
}

Result<std::vector<std::unique_ptr<Communicator>>> Communicator::create_local(const Options& options) {
  const auto hub = std::make_shared<LoopbackHub>(options.size);
  std::vector<std::unique_ptr<Communicator>> made;
  std::vector<PeerInfo> cards;
  for (Rank rank = 0; rank < options.size; ++rank) {
    Options own = options;
    own.rank = rank;
    made.emplace_back(new Communicator(own, nullptr));
    auto executor = Executor::make({.rank = rank, .alone = options.size == 1, .name = options.name});
    if (!executor.ok()) return executor.status();
    std::vector<std::unique_ptr<Transport>> transports;
    if (options.size > 1) {
      auto transport =
          hub->make_transport({.rank = rank, .size = options.size, .group = 0, .listener = &(*executor)->listener()});
      if (!transport.ok()) return transport.status();
      transports.push_back(std::move(*transport));
    }
    const Status adopted = made.back()->adopt(std::move(*executor), std::move(transports), hub);
    if (!adopted.ok()) return adopted;
    cards.push_back(
        {.doors = made.back()->link_set_->mesh().doors(), .host = {}, .algorithm = {}, .tuning = {}, .cores = {}});
  }
  for (auto& communicator : made) communicator->link_set_->mesh().set_peer_infos(cards);
  // The ring of connections, through which every rank learns that another has ended.
  for (Rank rank = 0; rank < options.size && options.size > 1; ++rank) {
    LinkSet& own = *made[static_cast<std::size_t>(rank)]->link_set_;
    for (const Rank neighbour : {(rank + 1) % options.size, (rank + options.size - 1) % options.size}) {
      const Status linked = own.executor().with_exclusive_progress(
          [&] { return own.mesh().link(neighbour, Deadline::after(options.timeout)).status(); });
      if (!linked.ok()) return linked;
    }
  }
  return made;
}

// ---- calls ----------------------------------------------------------------------------------------------------------

void Communicator::abort(std::string_view reason) {
  const Rank self = link_set_->rank();
  const Status why(
      Cause{.code = Code::aborted,
            .message = fmt::format("rank {} aborted the communicator{}{}", self, reason.empty() ? "" : ": ", reason),
            .rank = self,
            .peer = self});
  executor().abort(why, *context_);
}

Result<std::shared_ptr<Operation>> Communicator::prepare(const CallArguments& arguments) {
  if (Status broken = status(); !broken.ok()) return broken;
  const std::lock_guard lock(plans_mutex_);
  if (auto operation = latest_call_.repeat(arguments)) return operation;
  latest_call_.forget();
  auto checked = validate(arguments, options_.rank, options_.size);
  if (!checked.ok()) return checked.status();
  auto operation = prepare_checked(arguments, *checked, nullptr);
  if (!checked->blocks) latest_call_.keep(arguments, operation);
  return operation;
}

// Requires plans_mutex_. `staging`: where the data will lie, if not in the caller's memory.
std::shared_ptr<Operation> Communicator::prepare_checked(const CallArguments& arguments, CheckedCall& checked,
                                                         std::shared_ptr<Staging> staging) {
  const Signature& signature = checked.signature;
  const CollectiveInfo& collective = info_of(arguments.collective);
  const bool token = collective.chunks == Chunks::token;
  Binding binding{
      .input = static_cast<const std::byte*>(arguments.send),
      .output = static_cast<std::byte*>(arguments.recv),
      .signature = signature,
      .reduction = reduction_for(signature.dtype, token ? ReduceOp::max : signature.op, options_.size),
      .timeout = arguments.timeout_ms > 0 ? std::chrono::milliseconds(arguments.timeout_ms) : options_.timeout,
      .root = arguments.root,
      .staging = std::move(staging)};
  if (info_of(signature.op).takes == Takes::scalar) scale_input(arguments, checked, binding);
  if (!collective.runs_in_place() && checked.placement == Placement::in_place) copy_input(checked, binding);
  const bool user = info_of(signature.op).takes == Takes::function;
  if (user) {
    binding.user =
        std::make_shared<UserFunction>(arguments.function, arguments.context, signature.dtype, link_set_->rank());
    binding.reduction.custom = binding.user.get();
  }
  const bool in_rank_order = options_.deterministic || (user && !arguments.commutative);
  // Narrow floats are rounded with each operand then, as they are where messages carry the partial sums.
  if (in_rank_order) binding.reduction.all = nullptr;
  // A function that may throw is kept away from memory that others read: what it leaves then must not be seen. Direct
  // paths know blocks of equal size only, and no prefixes.
  if (window_use_ != nullptr && collective.direct_paths && !user &&
      options_.algorithms.wanted(arguments.collective, checked.bytes) == automatic_algorithm) {
    binding.signature.algorithm |= Signature::direct_algorithm;
    auto direct = direct_operation(arguments.persistent);
    direct->bind(binding, arguments.persistent);
    return direct;
  }
  const Algorithm& algorithm = choose(checked, collective.equal_blocks, in_rank_order);
  binding.signature.algorithm |= latest_choice_.number;
  const PlanKey key{.algorithm = &algorithm,
                    .rank = options_.rank,
                    .size = options_.size,
                    .root = arguments.root,
                    .count = checked.blocks ? 0 : static_cast<std::size_t>(signature.count),
                    .element_bytes = size_of(signature.dtype),
                    .slice_bytes = vector_slice_bytes,
                    .placement = checked.placement,
                    .topology = topology_,
                    .wire = algorithm.encoded ? signature.wire() : WireFormat::exact,
                    .blocks = checked.blocks};
  auto operation =
      arguments.from_any ? any_source_receive(key, arguments.source) : operation_for(key, arguments.persistent);
  operation->bind(binding, arguments.persistent);
  return operation;
}

// Requires plans_mutex_. An operation for this plan that nobody uses any more, or a new one; a persistent one is its
// caller's alone.
std::shared_ptr<ScheduleOperation> Communicator::operation_for(const PlanKey& key, bool persistent) {
  for (auto at = idle_.rbegin(); at != idle_.rend() && !persistent; ++at) {
    if (at->use_count() == 1 && (*at)->finished() && (*at)->plan().key == key) {
      std::rotate(at.base() - 1, at.base(), idle_.end());
      return idle_.back();
    }
  }
  auto made = std::make_shared<ScheduleOperation>(plans_.get(key), context_);
  made->set_transports(link_set_->mesh().transports_of(made->directions()));
  if (persistent) return made;
  idle_.push_back(made);
  if (idle_.size() > operations_kept) idle_.erase(idle_.begin());
  return made;
}

// Requires plans_mutex_.
std::shared_ptr<Operation> Communicator::direct_operation(bool persistent) {
  for (auto& operation : idle_direct_) {
    if (!persistent && operation.use_count() == 1 && operation->finished()) return operation;
  }
  auto made = std::make_shared<DirectOperation>(*window_use_, context_);
  made->set_transports(link_set_->window_transport());
  if (!persistent && idle_direct_.size() < operations_kept) idle_direct_.push_back(made);
  return made;
}

}  // namespace hocket
