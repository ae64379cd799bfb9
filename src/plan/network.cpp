#include "src/plan/network.hpp"

#include <fmt/format.h>

#include <initializer_list>
#include <utility>

namespace hocket {
namespace {

constexpr double seconds_max = 1e3;  // of one message or byte: more is a mistake, and would overflow

Status wrong(std::string_view field, std::string_view what) {
  return Status(Code::invalid_argument, fmt::format("{}: {}", field, what));
}

// Of how many times slower something is.
bool is_factor(double value) {
  return value >= 1 && value <= 1e6;
}

Status check_number(std::string_view field, Rank value, Rank least) {
  if (value >= least && value <= group_ranks_max) return {};
  return wrong(field, fmt::format("{} is not between {} and {}", value, least, group_ranks_max));
}

Status check_seconds(std::string_view field, double value) {
  if (value >= 0 && value <= seconds_max) return {};
  return wrong(field, fmt::format("{} s is not between 0 and {} s", value, seconds_max));
}

Status check_seconds_of(std::string_view name, std::initializer_list<std::pair<std::string_view, double>> fields) {
  for (const auto& [field, value] : fields) {
    if (Status status = check_seconds(fmt::format("{}.{}", name, field), value); !status) return status;
  }
  return {};
}

Status check_link(std::string_view name, const LinkCost& cost) {
  return check_seconds_of(name, {{"latency", cost.latency},
                                 {"send", cost.send},
                                 {"receive", cost.receive},
                                 {"send_per_byte", cost.send_per_byte},
                                 {"receive_per_byte", cost.receive_per_byte},
                                 {"wire_per_byte", cost.wire_per_byte},
                                 {"wake", cost.wake}});
}

Status check_direct(const DirectCost& cost) {
  const Status status = check_seconds_of("direct", {{"call", cost.call},
                                                    {"line", cost.line},
                                                    {"flag", cost.flag},
                                                    {"wake", cost.wake},
                                                    {"copy_per_byte", cost.copy_per_byte},
                                                    {"reduce_per_byte", cost.reduce_per_byte},
                                                    {"far_copy_per_byte", cost.far_copy_per_byte},
                                                    {"far_reduce_per_byte", cost.far_reduce_per_byte},
                                                    {"read", cost.read},
                                                    {"read_per_byte", cost.read_per_byte}});
  if (!status) return status;
  if (cost.cache_bytes >= 0 && cost.cache_bytes <= 1e15) return {};
  return wrong("direct.cache_bytes", "is not between 0 and 1e15");
}

Status check_slow(const NetworkDescription& given) {
  for (std::size_t i = 0; i < given.slow.size(); ++i) {
    const Slow& slow = given.slow[i];
    const std::string field = fmt::format("slow[{}]", i);
    const auto exists = [&](Rank rank) { return rank >= 0 && rank < given.ranks; };
    if ((slow.rank == no_rank) == (slow.from == no_rank) || (slow.from == no_rank) != (slow.to == no_rank)) {
      return wrong(field, "names either a rank, or from and to");
    }
    const bool known =
        slow.rank == no_rank ? exists(slow.from) && exists(slow.to) && slow.from != slow.to : exists(slow.rank);
    if (!known) return wrong(field, fmt::format("ranks go from 0 to {}, and from is not to", given.ranks - 1));
    if (!is_factor(slow.factor)) return wrong(field, "factor is not between 1 and 1e6");
  }
  return {};
}

Status check_description(const NetworkDescription& given) {
  if (Status status = check_number("ranks", given.ranks, 1); !status) return status;
  if (Status status = check_number("ranks_per_host", given.ranks_per_host, 1); !status) return status;
  if (Status status = check_number("ranks_per_leaf", given.ranks_per_leaf, 1); !status) return status;
  if (Status status = check_number("cores_per_host", given.cores_per_host, 0); !status) return status;
  if (given.kind == NetworkKind::torus) {
    if (Status status = check_number("rows", given.rows, 1); !status) return status;
    if (Status status = check_number("columns", given.columns, 1); !status) return status;
    if (std::int64_t{given.rows} * given.columns != given.ranks) {
      return wrong("rows", fmt::format("{} rows of {} are not {} ranks", given.rows, given.columns, given.ranks));
    }
  }
  if (!is_factor(given.oversubscription)) {
    return wrong("oversubscription", "is not between 1 and 1e6");
  }
  if (Status status = check_link("link", given.link); !status) return status;
  if (Status status = check_link("local", given.local); !status) return status;
  if (Status status = check_direct(given.direct.value_or(DirectCost())); !status) return status;
  if (Status status = check_seconds("copy_per_byte", given.copy_per_byte); !status) return status;
  if (Status status = check_seconds("reduce_per_byte", given.reduce_per_byte); !status) return status;
  return check_slow(given);
}

}  // namespace

Result<Network> Network::make(const NetworkDescription& description) {
  if (Status status = check_description(description); !status) return status;
  return Network(description);
}

// Links by their numbers. flat, fat_tree: ranks' ways out, ranks' ways in, then the switches' ways up and down. hosts:
// cards out, cards in, then each rank's way to its neighbours. torus: rank × direction.
Network::Network(const NetworkDescription& description) : description_(description) {
  const double per_byte = description_.link.wire_per_byte;
  switch (description_.kind) {
    case NetworkKind::flat: add_links(2 * size(), per_byte); break;
    case NetworkKind::hosts:
      per_host_ = description_.ranks_per_host;
      add_links(2 * hosts(), per_byte);
      add_links(size(), description_.local.wire_per_byte);
      break;
    case NetworkKind::torus: add_links(4 * size(), per_byte); break;
    case NetworkKind::fat_tree: {
      const Rank leaf = description_.ranks_per_leaf;
      add_links(2 * size(), per_byte);
      add_links(2 * ((size() + leaf - 1) / leaf), per_byte * description_.oversubscription / leaf);
      break;
    }
  }
  std::vector<std::uint32_t> host_by_rank;
  for (Rank rank = 0; rank < size(); ++rank) host_by_rank.push_back(static_cast<std::uint32_t>(host_of(rank)));
  topology_ = Topology(host_by_rank);
  add_slow();
}

Network::LinkBlock Network::block_of(std::uint32_t link) const {
  const auto ranks = static_cast<std::uint32_t>(size());
  const auto among = [&](std::uint32_t first, std::uint32_t each, Rank sharers) {  // ways out, then ways in
    return LinkBlock{.first = link < first + each ? first : first + each, .ranks = sharers};
  };
  switch (description_.kind) {
    case NetworkKind::flat: return among(0, ranks, 1);
    case NetworkKind::hosts: {
      const auto cards = 2 * static_cast<std::uint32_t>(hosts());
      return link < cards ? among(0, cards / 2, per_host_) : LinkBlock{.first = cards};
    }
    case NetworkKind::torus: return {.links = 4};
    case NetworkKind::fat_tree: break;
  }
  if (link < 2 * ranks) return among(0, ranks, 1);
  const Rank leaf = description_.ranks_per_leaf;
  return among(2 * ranks, static_cast<std::uint32_t>((size() + leaf - 1) / leaf), leaf);
}

Rank Network::first_rank_of(std::uint32_t link) const {
  for (const SlowPair& slow : slow_pairs_) {
    if (slow.link == link) return slow.from;
  }
  const LinkBlock block = block_of(link);
  return static_cast<Rank>((link - block.first) / block.links) * block.ranks;
}

std::uint32_t Network::turned_back(std::uint32_t link, Rank ranks) const {
  if (ranks == 0) return link;
  const LinkBlock block = block_of(link);
  return link - static_cast<std::uint32_t>(ranks / block.ranks) * block.links;
}

Rank Network::period() const {
  if (!description_.slow.empty()) return size();
  const auto if_equal = [&](Rank each) { return size() % each == 0 ? each : size(); };
  switch (description_.kind) {
    case NetworkKind::flat: return 1;
    case NetworkKind::hosts: return if_equal(per_host_);
    case NetworkKind::torus: return description_.rows == 1 ? 1 : description_.columns;
    case NetworkKind::fat_tree: return if_equal(description_.ranks_per_leaf);
  }
  return size();
}

void Network::add_slow() {
  for (const Slow& slow : description_.slow) {
    if (slow.rank == no_rank) {
      const bool local = host_of(slow.from) == host_of(slow.to);
      const LinkCost& cost = local ? description_.local : description_.link;
      slow_pairs_.push_back({slow.from, slow.to, slow.factor, static_cast<std::uint32_t>(links())});
      add_links(1, cost.wire_per_byte * slow.factor);
      continue;
    }
    const auto rank = static_cast<std::size_t>(slow.rank), ranks = static_cast<std::size_t>(size());
    slowness_.resize(ranks, 1);
    slowness_[rank] *= slow.factor;
    const auto slow_down = [&](std::size_t link) { wire_per_byte_[link] *= slow.factor; };
    switch (description_.kind) {
      case NetworkKind::flat:
      case NetworkKind::fat_tree:
        slow_down(rank);
        slow_down(ranks + rank);
        break;
      case NetworkKind::hosts: slow_down(2 * static_cast<std::size_t>(hosts()) + rank); break;
      case NetworkKind::torus:
        for (std::size_t direction = 0; direction < 4; ++direction) slow_down(4 * rank + direction);
        break;
    }
  }
}

void Network::find_route(Rank from, Rank to, Route& route) const {
  route.links.clear();
  route.cost = &description_.link;
  const auto add = [&](Rank link) { route.links.push_back(static_cast<std::uint32_t>(link)); };
  Rank hops = 1;
  switch (description_.kind) {
    case NetworkKind::flat:
      add(from);
      add(size() + to);
      break;
    case NetworkKind::hosts:
      if (host_of(from) == host_of(to)) {
        route.cost = &description_.local;
        add(2 * hosts() + from);
      } else {
        add(host_of(from));
        add(hosts() + host_of(to));
      }
      break;
    case NetworkKind::torus:
      find_torus_route(from, to, route);
      hops = static_cast<Rank>(route.links.size());
      break;
    case NetworkKind::fat_tree: find_tree_route(from, to, route); break;
  }
  double latency = route.cost->latency * hops;
  for (const SlowPair& slow : slow_pairs_) {
    if (slow.from != from || slow.to != to) continue;
    route.links.push_back(slow.link);
    latency *= slow.factor;
  }
  route.latency = picoseconds(latency);
}

void Network::find_torus_route(Rank from, Rank to, Route& route) const {
  const Rank columns = description_.columns, rows = description_.rows;
  Rank row = from / columns, column = from % columns;
  const auto walk = [&](Rank& at, Rank target, Rank length, std::uint32_t forward) {
    const Rank ahead = (target - at + length) % length;
    const bool back = ahead > length - ahead;
    for (Rank left = back ? length - ahead : ahead; left > 0; --left) {
      const auto here = static_cast<std::uint32_t>(row * columns + column);
      route.links.push_back(4 * here + forward + (back ? 1 : 0));
      at = (at + (back ? length - 1 : 1)) % length;
    }
  };
  walk(column, to % columns, columns, 0);
  walk(row, to / columns, rows, 2);
}

void Network::find_tree_route(Rank from, Rank to, Route& route) const {
  const Rank leaf = description_.ranks_per_leaf, leaves = (size() + leaf - 1) / leaf;
  const auto add = [&](Rank link) { route.links.push_back(static_cast<std::uint32_t>(link)); };
  add(from);
  if (from / leaf != to / leaf) {
    add(2 * size() + from / leaf);
    add(2 * size() + leaves + to / leaf);
  }
  add(size() + to);
}

NetworkSpeed Network::speed() const {
  constexpr double fastest = 1e6;  // megabits per second: what is faster is no network
  const double per_byte = description_.link.wire_per_byte;
  const double megabits = per_byte > 0 ? 8e-6 / per_byte : 0;
  return hosts() == 1 || megabits > fastest ? NetworkSpeed::unknown
                                            : network_speed_of(static_cast<std::int64_t>(megabits));
}

}  // namespace hocket
