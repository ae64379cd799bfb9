#include "bench/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "bench/flags.hpp"
#include "bench/lists.hpp"
#include "src/plan/text.hpp"
#include "src/spi/signature.hpp"
#include "tools/arguments.hpp"

namespace hocket::bench {
namespace {

// "all", or names between commas.
template <class Table, class Enum = std::remove_cvref_t<decltype(*std::begin(std::declval<const Table&>()))>>
Result<std::vector<Enum>> parse_names(const Table& table, const char* what, const std::string& text) {
  if (text == "all") return std::vector<Enum>(std::begin(table), std::end(table));
  std::vector<Enum> found;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    const auto entry = find_by_name(table, name);
    if (!entry) {
      return Status(Code::invalid_argument,
                    fmt::format("Unknown {} '{}'. Choose from: {}, all.", what, name, names_of(table)));
    }
    found.push_back(*entry);
    begin = end + 1;
  }
  return found;
}

Status set_sizes(const Written& written, Options& options, bool max_given) {
  const auto low = arguments::parse_size(written.min);
  if (!low) return low.status();
  auto high = arguments::parse_size(written.max);
  if (!high) return high.status();
  if (!max_given) high = std::max(*high, *low);
  std::uint64_t step = 0;
  if (!written.step.empty()) {
    const auto given = arguments::parse_size(written.step);
    if (!given) return given.status();
    if (*given == 0) return {Code::invalid_argument, "The step -i must be at least 1 byte."};
    step = *given;
  }
  if (*low > *high) {
    return {Code::invalid_argument,
            fmt::format("The smallest size -b {} is larger than the largest size -e {}.", written.min, written.max)};
  }
  if (!options.collective->has_data()) {
    options.sizes = {0};
  } else {
    options.sizes = sweep(*low, *high, written.factor, step, size_of(options.dtypes.front()));
  }
  return {};
}

Status set_placement(const std::string& placement, Options& options) {
  options.out_of_place = placement != "in";
  options.in_place = placement != "out" && options.collective->has_in_place();
  if (!options.out_of_place && !options.in_place) {
    return {Code::invalid_argument,
            fmt::format("{} has no in-place form; use --placement out.", options.collective->name())};
  }
  return {};
}

Status set_root(const std::string& root, Options& options) {
  if (root == "all") {
    options.root.reset();
    return {};
  }
  char* end = nullptr;
  const long value = std::strtol(root.c_str(), &end, 10);
  const bool fits = value >= 0 && value <= std::numeric_limits<int>::max();
  if (root.empty() || *end != '\0' || !fits) {
    return {Code::invalid_argument, fmt::format("The root -r must be a rank or 'all', not '{}'.", root)};
  }
  if (options.ranks > 0 && value >= options.ranks) {
    return {Code::invalid_argument, fmt::format("The root -r {} is not a rank: ranks are 0 to {} with --ranks {}.",
                                                value, options.ranks - 1, options.ranks)};
  }
  options.root = static_cast<int>(value);
  return {};
}

// What the library would refuse, but here before anything is printed or started.
Status check_call(const Options& options) {
  const Benchmark& collective = *options.collective;
  if (options.tensors > 0 && !has_list(collective)) {
    return {Code::invalid_argument, fmt::format("--coalesced is for allreduce, reduce, reduce_scatter, allgather and "
                                                "broadcast, not for {}.",
                                                collective.name())};
  }
  if (options.persistent && collective.is_grouped()) {
    return {Code::invalid_argument,
            fmt::format("--persistent is not for {}: it is a group of calls, which are planned each time.",
                        collective.name())};
  }
  if (options.wire == WireFormat::exact) return {};
  for (const DataType dtype : options.dtypes) {
    for (const ReduceOp op : options.ops) {
      if (has_wire(collective, dtype, op) || (collective.row->reduces() && !has_meaning(collective, dtype, op)))
        continue;
      return {Code::invalid_argument,
              fmt::format("--wire {} is not for {} of {}{}{}, but for {}.", name_of(options.wire), collective.name(),
                          name_of(dtype), collective.row->reduces() ? " with " : "",
                          collective.row->reduces() ? name_of(op) : "", describe_wire_calls())};
    }
  }
  return {};
}

Status set_kill(const std::string& text, Options& options) {
  if (text.empty()) return {};
  const auto wrong = [&](std::string why) {
    return Status(Code::invalid_argument, fmt::format("--kill {}: {}", text, std::move(why)));
  };
  Kill kill;
  const char* const end = text.data() + text.size();
  const auto rank = std::from_chars(text.data(), end, kill.rank);
  const bool at = rank.ec == std::errc() && rank.ptr != end && *rank.ptr == '@';
  const auto iteration = std::from_chars(at ? rank.ptr + 1 : end, end, kill.iteration);
  if (!at || iteration.ec != std::errc() || iteration.ptr != end || kill.rank < 0 || kill.iteration == 0) {
    return wrong("write RANK@ITERATION, a rank and the number of a timed operation from 1 on, as in 2@100.");
  }
  if (options.transport == "loopback") return wrong("ranks that are threads cannot be killed.");
  if (options.best_fixed) return wrong("there is no such thing with --best-fixed.");
  if (!options.root) return wrong("name one root with -r: how many roots 'all' means would change.");
  options.kill = kill;
  return options.ranks > 0 ? check_size(options, options.ranks) : Status();
}

Status finish(const Written& written, Options& options, bool max_given) {
  options.collective = find_benchmark(written.collective);
  if (options.collective == nullptr) {
    return {Code::invalid_argument,
            fmt::format("Unknown collective '{}'. Choose one of: {}.", written.collective, benchmark_names())};
  }
  const auto dtypes = parse_names(all_data_types, "type", written.dtype);
  if (!dtypes) return dtypes.status();
  const auto ops = parse_names(built_in_reduce_ops, "operation", written.op);
  if (!ops) return ops.status();
  options.dtypes = *dtypes;
  options.ops = *ops;
  // What the collective does not have is measured once.
  if (!options.collective->row->reduces()) options.ops.resize(1);
  const auto has_op = [&](DataType dtype) {
    return std::ranges::any_of(options.ops, [&](ReduceOp op) { return has_meaning(*options.collective, dtype, op); });
  };
  if (options.collective->row->reduces() && std::ranges::none_of(options.dtypes, has_op)) {
    return {Code::invalid_argument,
            fmt::format("-o {} is not defined for {} of -d {}.", written.op, written.collective, written.dtype)};
  }
  if (!options.collective->has_data()) options.dtypes.resize(1);
  const auto wire = find_by_name(all_wire_formats, written.wire);
  if (!wire) {
    return {Code::invalid_argument,
            fmt::format("Unknown wire format '{}'. Choose from: {}.", written.wire, names_of(all_wire_formats))};
  }
  options.wire = *wire;
  if (const Status possible = check_call(options); !possible) return possible;
  if (options.transport == "loopback" && options.ranks == 0) {
    return {Code::invalid_argument,
            "Loopback ranks are threads of one process: say how many with --ranks N, and use no launcher."};
  }
  if (const Status set = set_sizes(written, options, max_given); !set) return set;
  if (const Status set = set_placement(written.placement, options); !set) return set;
  if (const Status set = set_root(written.root, options); !set) return set;
  if (!options.pacer_file.empty() && (options.best_fixed || !written.kill.empty())) {
    return {Code::invalid_argument, "--pacer is not for --best-fixed, whose ranks meet anyway, nor for --kill."};
  }
  return set_kill(written.kill, options);
}

void set_from_environment(const char* name, std::string& field) {
  if (const char* value = std::getenv(name); value != nullptr && *value != '\0') field = value;
}

}  // namespace

hocket::Options communicator_options(const Options& options) {
  hocket::Options given;
  given.transport = options.transport;
  given.algorithm = options.algorithm;
  given.timeout = std::chrono::milliseconds(std::lround(options.timeout_seconds * 1000));
  return given;
}

Status check_size(const Options& options, int ranks) {
  if (options.root && *options.root >= ranks) {
    return {Code::invalid_argument,
            fmt::format("The root -r {} is not a rank: ranks are 0 to {}.", *options.root, ranks - 1)};
  }
  if (options.collective->is_message() && ranks < 2) {
    return {Code::invalid_argument, fmt::format("{} needs at least 2 ranks.", options.collective->name())};
  }
  if (!options.kill) return {};
  if (options.kill->rank >= ranks) {
    return {Code::invalid_argument, fmt::format("--kill {}: ranks are 0 to {}.", options.kill->rank, ranks - 1)};
  }
  const int left = ranks - 1, needed = options.collective->is_message() ? 2 : 1;
  if (left < needed || *options.root >= left) {
    return {Code::invalid_argument,
            fmt::format("--kill leaves {} rank{}, 0 to {}: {} needs {}.", left, left == 1 ? "" : "s", left - 1,
                        options.collective->name(),
                        left < needed ? fmt::format("{} at least", needed)
                                      : fmt::format("its root -r {} among them", *options.root))};
  }
  return {};
}

std::vector<Case> cases_of(const Options& options, int ranks) {
  std::vector<Case> cases;
  const bool all_roots = options.collective->row->has_root() && !options.root;
  const int first_root = options.root.value_or(0);
  const int last_root = all_roots ? ranks - 1 : first_root;
  for (const DataType dtype : options.dtypes) {
    for (const ReduceOp op : options.ops) {
      if (options.collective->row->reduces() && !has_meaning(*options.collective, dtype, op)) continue;
      for (int root = first_root; root <= last_root; ++root) {
        for (const std::uint64_t bytes : options.sizes) {
          cases.push_back({options.collective, dtype, op, root, count_for(*options.collective, dtype, ranks, bytes),
                           false, options.memory == registered_memory, options.wire, options.persistent,
                           options.tensors});
        }
      }
    }
  }
  return cases;
}

std::string size_text(std::uint64_t bytes) {
  return text_of_size(bytes);
}

std::vector<std::uint64_t> sweep(std::uint64_t low, std::uint64_t high, std::uint64_t factor, std::uint64_t step,
                                 std::uint64_t unit) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = low; size <= high;) {
    sizes.push_back(size);
    if (step > 0) {
      size += step;
    } else {
      size = size == 0 ? unit : size * factor;
    }
  }
  return sizes;
}

Parsed parse_options(int argc, const char* const* argv) {
  Options options;
  Written written;
  set_from_environment("HOCKET_TRANSPORT", options.transport);
  set_from_environment("HOCKET_ALGORITHM", options.algorithm);
  CLI::App app(
      "Measures one collective and checks its results element by element.\n"
      "A size is the larger of a rank's two buffers. A time is the slowest rank's for one operation; rows show the\n"
      "median; those with a root or unequal blocks, and scans, show the mean: ranks may run ahead (not with --fresh).\n"
      "Exit status: 0, 1 on a wrong element, 2 on wrong usage, 3 when communication failed.",
      "hocket-bench");
  const CLI::Option* max = add_subject(app, written, options);
  add_method(app, written, options);
  if (const auto ending = arguments::parse(app, argc, argv)) return {std::nullopt, ending->text, ending->exit_status};
  if (options.json_file == "-" && options.csv_file == "-") {
    return {std::nullopt, "hocket-bench: --json and --csv cannot both write to standard output.\n", exit_usage};
  }
  if (options.best_fixed && (options.transport == "loopback" || !options.csv_file.empty() ||
                             !options.model_file.empty() || written.wire != "exact")) {
    return {std::nullopt,
            "hocket-bench: --best-fixed is for exact calls of processes, and has neither --csv nor "
            "--model.\n",
            exit_usage};
  }
  if (options.model_file == model_of_probe && options.transport == "loopback") {
    return {std::nullopt, "hocket-bench: --model probe measures between processes, not between threads.\n", exit_usage};
  }
  if (const Status finished = finish(written, options, max->count() > 0); !finished) {
    return {std::nullopt, fmt::format("hocket-bench: {}\n", finished.message()), exit_usage};
  }
  return {options, "", 0};
}

}  // namespace hocket::bench
