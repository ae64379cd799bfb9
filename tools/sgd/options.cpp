#include "tools/sgd/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <regex>

#include "tools/arguments.hpp"

namespace hocket::sgd {
namespace {

constexpr const char* about =
    "hocket-sgd --ranks N [options]   trains with N ranks of this machine (or: hocket-run -n N hocket-sgd [options])\n"
    "hocket-sgd [options]             trains in this process alone\n"
    "hocket-sgd --prove [options]     shows by measurement what a ring allreduce costs\n\n"
    "Teaches a small network to read digits, by synchronous data-parallel SGD over Hocket. Exit status: 0; 1 where "
    "weights differ between ranks, the loss grows beyond all numbers or a counted fact of the proof does not hold; 2 "
    "for wrong arguments or data; 3 where "
    "communication fails.";

// These two are for CLI::Option::check().
std::string refuse_one(const std::string& text) {
  return std::strtod(text.c_str(), nullptr) < 1 ? "" : "'1' is too much: the steps before would never be forgotten";
}

// What tools/test-hosts takes for a rate, without what no link has and tc cannot make.
std::string refuse_no_rate(const std::string& text) {
  static const std::regex pattern("([0-9]{1,9}(?:\\.[0-9]{1,9})?)(k|m|g)?bit");
  constexpr double least = 1e3, most = 1e12;
  std::smatch parts;
  double rate = 0;
  if (std::regex_match(text, parts, pattern)) {
    const std::string unit = parts[2];
    rate = std::stod(parts[1]) * (unit == "g" ? 1e9 : unit == "m" ? 1e6 : unit == "k" ? 1e3 : 1);
  }
  if (rate >= least && rate <= most) return {};
  return fmt::format("'{}' is not a rate from 1kbit to 1000gbit: write a number with kbit, mbit or gbit, as in 400mbit",
                     text);
}

void add_data_and_network(CLI::App& app, Training& training) {
  app.add_option("--data", training.folder,
                 "folder with MNIST's four IDX files, plain or gzipped; default: digits "
                 "that this program draws")
      ->check(arguments::not_empty())
      ->group("Data and network");
  app.add_option("--drawn", training.drawn, "how many digits to draw (8192)")
      ->check(CLI::Range(1, 1'000'000))
      ->group("Data and network");
  app.add_option("--seed", training.seed, "of drawn digits, first weights and the order of samples (1)")
      ->check(CLI::Range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()))
      ->group("Data and network");
  auto* network = app.add_option("--network", training.network,
                                 "perceptron, or lenet: two convolutions with pooling before the dense layers "
                                 "(perceptron)");
  network->group("Data and network")->transform(arguments::one_of({"perceptron", "lenet"}));
  app.add_option("--hidden", training.hidden,
                 "of a perceptron: sizes of the hidden layers, as in 256,128; 0: none (128)")
      ->delimiter(',')
      ->check(CLI::Range(0, 65536))
      ->group("Data and network");
}

// "cuda" and "cuda:1" as numbers of GPUs.
std::string set_device(const std::string& text, int& device) {
  static const std::regex pattern("cpu|cuda(:([0-9]{1,4}))?");
  std::smatch parts;
  if (!std::regex_match(text, parts, pattern)) return fmt::format("'{}' is none of cpu, cuda and cuda:1", text);
  device = text == "cpu" ? no_device : parts[2].matched ? std::stoi(parts[2]) : 0;
  return {};
}

void add_training(CLI::App& app, Training& training) {
  const auto option = [&](const char* name, auto& value, const char* what) {
    return app.add_option(name, value, what)->group("Training");
  };
  option("--epochs", training.epochs, "how often to go through the data (3)")->check(CLI::Range(1, 1'000'000));
  option("--steps", training.steps, "end after so many steps, even within an epoch")
      ->check(CLI::Range(1, std::numeric_limits<int>::max()));
  auto* batch = option("--batch", training.batch, "samples in a step, over all ranks (128)");
  batch->check(CLI::Range(1, 1 << 24));
  app.add_option_function<std::string>(
         "--device",
         [&training](const std::string& text) {
           if (const std::string wrong = set_device(text, training.device); !wrong.empty()) {
             throw CLI::ValidationError("--device", wrong);
           }
         },
         "cpu, or cuda: weights and gradients on GPU 0, for a perceptron without --lars; cuda:1 is GPU 1 (cpu)")
      ->type_name("DEVICE")
      ->group("Training");
  option("--batch-per-rank", training.batch_per_rank, "instead of --batch: samples of each rank in a step")
      ->check(CLI::Range(1, 1 << 24))
      ->excludes(batch);
  option("--rate", training.rate, "learning rate (0.05)")->check(arguments::number(0, 1e6));
  option("--base-batch", training.base_batch,
         "the batch that --rate is meant for: a batch k times as large takes k times the rate")
      ->check(CLI::Range(1, 1 << 24));
  option("--warmup-epochs", training.warmup_epochs, "epochs in which the scaled rate is reached, in equal steps (0)")
      ->check(arguments::number(0, 1e6));
  option("--momentum", training.rule.momentum, "at least 0 and less than 1 (0.9)")
      ->check(arguments::number(0, 1))
      ->check(CLI::Validator(refuse_one, ""));
  option("--weight-decay", training.rule.weight_decay, "(0)")->check(arguments::number(0, 1e3));
  auto* lars = app.add_flag("--lars", training.rule.lars, "layer-wise adaptive rates, for very large batches");
  lars->group("Training");
  option("--trust", training.rule.trust, "with --lars: a step's share of a layer's weights (0.001)")
      ->check(arguments::number(0, 1e3))
      ->needs(lars);
}

void add_communication(CLI::App& app, Options& options) {
  const auto option = [&](const char* name, auto& value, const char* what) {
    return app.add_option(name, value, what)->group("Communication");
  };
  Training& training = options.training;
  option("--gradients", training.combine, "average or sum of the ranks' gradients (average)")
      ->transform(arguments::one_of({"average", "sum"}));
  option("--bucket-mb", training.bucket_mb, "10^6 bytes of gradients that go together; 0: every tensor by itself (1)")
      ->check(arguments::number(0, 1e6));
  option("--overlap", training.departure,
         "on: buckets leave during the backward pass; off: all leave after it, to show the difference (on)")
      ->transform(arguments::one_of({"on", "off"}));
  auto* ranks =
      option("--ranks", options.ranks, "start this many ranks here; with --prove: up to so many, from 2 to 64 (8)")
          ->check(CLI::Range(1, group_ranks_max));
  app.add_flag("--elastic", options.elastic,
               "go on when ranks die, and take newcomers in: hocket-run --elastic MIN:MAX hocket-sgd --elastic")
      ->group("Communication")
      ->excludes(ranks);
  option("--timeout", options.timeout_seconds,
         "seconds that any wait for another rank may last (HOCKET_TIMEOUT_MS, or 300)")
      ->check(arguments::number(0.001, 1e7));
  option("--transport", options.transport, "as HOCKET_TRANSPORT: auto, tcp, shm");
  option("--algorithm", options.algorithm, "as HOCKET_ALGORITHM: auto, ring, linear, ...");
}

void add_proof(CLI::App& app, bool& prove, Options& options, Proof& proof) {
  auto* proves =
      app.add_flag("--prove", prove,
                   "counts and times ring allreduces of 2 to --ranks ranks, which it starts itself on network "
                   "namespaces; below a launcher: on that launcher's ranks");
  proves->group("Proof");
  const auto option = [&](const char* name, auto& value, const char* what) {
    return app.add_option(name, value, what)->group("Proof")->needs(proves);
  };
  option("--bytes,--sizes", proof.sizes, "sizes of what is summed, as in 64K,4M (256K,1M,4M,16M)")
      ->delimiter(',')
      ->transform(arguments::size(std::uint64_t{1} << 40));
  option("--iterations", proof.iterations, "timed calls of each, at least: short ones are repeated for 20 ms (3)")
      ->check(CLI::Range(1, 10000));
  option("--links", proof.links,
         "shaped: network namespaces; loopback: TCP on this machine; auto: shaped if possible (auto)")
      ->transform(arguments::one_of({"auto", "shaped", "loopback"}));
  option("--link-rate", proof.rate, "of shaped links, each way, as in 1gbit (400mbit)")
      ->check(CLI::Validator(refuse_no_rate, ""));
  option("--test-hosts", proof.test_hosts,
         "the program tools/test-hosts, which makes the links; default: what was installed with this program, or is in "
         "the source tree in which it was built");
  option("--output,--html", options.html_file, "writes a page with plots to this file");
  option("--described", proof.described, "")->group("");  // what the first process tells the ranks that it starts
}

// For the training steps of the proof: a network whose gradients are a few megabytes, most of them complete long before
// the last, and batches that take a while.
void set_trial_defaults(const CLI::App& app, Training& training) {
  if (app.count("--hidden") == 0) training.hidden = {256, 512, 512};
  if (app.count("--batch") == 0) training.batch = 1024;
  if (app.count("--drawn") == 0) training.drawn = 3 * training.batch;
}

}  // namespace

Parsed parse_options(int argc, const char* const* argv) {
  Options options;
  Proof proof;
  bool prove = false;
  CLI::App app(about, "hocket-sgd");
  add_data_and_network(app, options.training);
  add_training(app, options.training);
  add_communication(app, options);
  add_proof(app, prove, options, proof);
  app.add_option("--json", options.json_file, "writes the results to this file; -: standard output");
  if (const auto ending = arguments::parse(app, argc, argv)) return {std::nullopt, ending->text, ending->exit_status};
  std::erase(options.training.hidden, 0U);
  if (options.training.network == Architecture::lenet && app.count("--hidden") > 0) {
    return {std::nullopt, "hocket-sgd: --hidden is for --network perceptron; lenet has layers of its own.\n",
            exit_usage};
  }
  const bool on_device = options.training.device != no_device;
  if (on_device && (prove || options.training.rule.lars || options.training.network == Architecture::lenet)) {
    return {std::nullopt,
            fmt::format("hocket-sgd: --device cuda excludes {}: it trains a perceptron by the plain rule.\n",
                        prove                        ? "--prove"
                        : options.training.rule.lars ? "--lars"
                                                     : "--network lenet"),
            exit_usage};
  }
  if (options.elastic && (prove || options.training.batch_per_rank > 0)) {
    return {std::nullopt,
            fmt::format("hocket-sgd: --elastic excludes {}: {}\n", prove ? "--prove" : "--batch-per-rank",
                        prove ? "a proof counts what fixed ranks do."
                              : "with --batch, a step has the same samples whoever is there."),
            exit_usage};
  }
  for (const std::string& file : {options.html_file, options.json_file}) {
    // Before the work, not after it.
    const bool fits = file.empty() || file == "-" || arguments::can_be_written(file);
    if (!fits) return {std::nullopt, fmt::format("hocket-sgd: Cannot write {}.\n", file), exit_usage};
  }
  if (prove) {
    constexpr int ranks_max = 64;
    if (options.ranks > 0) proof.ranks = options.ranks;
    if (proof.ranks < 2 || proof.ranks > ranks_max) {
      return {std::nullopt, fmt::format("hocket-sgd: --ranks: a proof takes 2 to {} ranks.\n", ranks_max), exit_usage};
    }
    set_trial_defaults(app, options.training);
    options.proof = proof;
  }
  return {options, {}, 0};
}

}  // namespace hocket::sgd
