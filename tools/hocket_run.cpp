// hocket-run: starts a program as several ranks, on this machine or on several hosts.
#include <fmt/core.h>
#include <stdlib.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "tools/arguments.hpp"
#include "tools/guarded_main.hpp"
#include "tools/launch.hpp"
#include "tools/launch_agent.hpp"
#include "tools/launch_cores.hpp"

namespace {

constexpr int usage_error = 2;

int fail(const std::string& sentence) {
  fmt::print(stderr, "hocket-run: {}\n", sentence);
  return usage_error;
}

constexpr const char* description =
    "hocket-run -n N [options] PROG [ARGS...]\n"
    "Starts PROG as N ranks on this machine or on several hosts, labels their output by rank, and ends all when one "
    "fails.\n"
    "Each rank gets RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT.\n"
    "The exit status is that of the first rank that failed (128 + signal if a signal killed it; 255 if a host was "
    "lost), else 0.\n"
    "With --elastic the job goes on when ranks die, and the status is 0 if those that are left end well.";

// What the command line says of hosts.
struct HostFlags {
  std::string list, file, ssh = "ssh";
  double timeout = 15;
  hocket::launch::Hosts hosts;
  std::vector<const CLI::Option*> others;  // that mean nothing without hosts

  void add_to(CLI::App& app) {
    const auto text = hocket::arguments::not_empty();
    CLI::Option* const named =
        app.add_option("--hosts", list, "start on these hosts by ssh, as in a,b or a:4,b:4 (ranks on each)")
            ->check(text)
            ->type_name("LIST");
    app.add_option("--hosts-file", file, "the same from a file: a host on each line, as in a, a:4 or a slots=4")
        ->check(text)
        ->type_name("FILE")
        ->excludes(named);
    const auto add = [&](const char* name, auto& value, const char* type, const char* what) {
      others.push_back(app.add_option(name, value, what)->type_name(type));
      return const_cast<CLI::Option*>(others.back());
    };
    add("--ssh", ssh, "COMMAND", "ssh with options of its own, as in 'ssh -p 2222 -i key' (ssh)")->check(text);
    add("--remote-program", hosts.remote_program, "PATH", "hocket-run on the other hosts (where it is here)")
        ->check(text);
    add("--env", hosts.variables, "NAME", "ranks get this variable too, besides HOCKET_*; may be repeated")
        ->check(text)
        ->allow_extra_args(false);
    add("--address", hosts.address, "ADDR|INTERFACE", "where the hosts reach this one (what the first of them sees)")
        ->check(text);
    add("--host-timeout", timeout, "SECONDS", "a host that is silent for so long is lost (15)")
        ->check(hocket::arguments::number(1, 3600));
  }

  // Fills in options.hosts, and options.ranks where only the hosts tell it.
  hocket::Status apply(hocket::launch::Options& options) {
    namespace launch = hocket::launch;
    const auto wrong = [](std::string text) { return hocket::Status(hocket::Code::invalid_argument, std::move(text)); };
    if (list.empty() && file.empty()) {
      const auto given = std::ranges::find_if(others, [](const CLI::Option* option) { return option->count() > 0; });
      if (given == others.end()) return {};
      return wrong(fmt::format("{} needs --hosts or --hosts-file.", (*given)->get_name()));
    }
    if (options.input_to_rank_0) return wrong("--stdin works on this machine alone, without --hosts.");
    for (const std::string& name : hosts.variables) {
      if (::getenv(name.c_str()) == nullptr) return wrong(fmt::format("--env: {} is not set here.", name));
    }
    const auto named = file.empty() ? launch::parse_hosts(list) : launch::read_hosts(file);
    if (!named) return named.status();
    auto shares = launch::share_out(*named, options.ranks);
    if (!shares) return shares.status();
    auto command = launch::split_command(ssh);
    if (!command) return command.status();
    hosts.shares = std::move(*shares);
    hosts.ssh = std::move(*command);
    hosts.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(timeout * 1000));
    options.ranks = hosts.shares.back().first + hosts.shares.back().count;
    options.hosts = std::move(hosts);
    return {};
  }
};

// What the command line says of ranks that die.
struct ElasticFlags {
  std::string bounds;
  int restarts = 10;

  void add_to(CLI::App& app) {
    CLI::Option* const elastic =
        app.add_option("--elastic", bounds,
                       "go on when ranks die, with MIN ranks or more: others take their place, MAX at a time; starts "
                       "MAX, or -n and the others as newcomers")
            ->check(hocket::arguments::not_empty())
            ->type_name("MIN:MAX");
    app.add_option("--restarts", restarts, "with --elastic: how many may be started in place of others (10)")
        ->check(CLI::Range(0, 1'000'000))
        ->needs(elastic);
  }

  // Fills in options.elastic, and options.ranks where only this tells it.
  hocket::Status apply(hocket::launch::Options& options) const {
    if (bounds.empty()) return {};
    const auto wrong = [](std::string text) { return hocket::Status(hocket::Code::invalid_argument, std::move(text)); };
    hocket::launch::Elastic elastic{.restarts = restarts};
    const char* const end = bounds.data() + bounds.size();
    const auto least = std::from_chars(bounds.data(), end, elastic.least);
    const bool colon = least.ec == std::errc() && least.ptr != end && *least.ptr == ':';
    const auto most = std::from_chars(colon ? least.ptr + 1 : end, end, elastic.most);
    const bool right = colon && most.ec == std::errc() && most.ptr == end;
    if (!right || elastic.least < 1 || elastic.most < elastic.least || elastic.most > hocket::group_ranks_max) {
      return wrong(
          fmt::format("--elastic: '{}' is not MIN:MAX, two numbers from 1 to {} of which the second is not less "
                      "than the first, as in 2:4.",
                      bounds, hocket::group_ranks_max));
    }
    if (options.hosts) return wrong("--elastic is for ranks of this machine, without --hosts.");
    if (options.input_to_rank_0) return wrong("--elastic goes without --stdin: rank 0 may die.");
    if (options.ranks == 0) options.ranks = elastic.most;
    if (options.ranks < elastic.least || options.ranks > elastic.most) {
      return wrong(fmt::format("--ranks {} is not within --elastic {}.", options.ranks, bounds));
    }
    options.elastic = elastic;
    return {};
  }
};

int run(int argc, char** argv) {
  CLI::App app(description, "hocket-run");
  hocket::launch::Options options;
  options.ranks = 0;
  double grace = 5, agent = 0;
  bool no_label = false;
  HostFlags hosts;
  ElasticFlags elastic;
  app.add_option("-n,--ranks", options.ranks, "number of ranks (required, unless --hosts or --elastic tells it)")
      ->check(CLI::Range(1, hocket::group_ranks_max));
  app.add_flag("--no-label", no_label, "do not begin lines with the rank");
  app.add_option("--bind-to", options.binding,
                 "core: pin each rank to its own core; auto: pin if there are enough cores (none)")
      ->check(CLI::IsMember(hocket::launch::bindings))
      ->type_name("WHAT");
  app.add_flag("--stdin", options.input_to_rank_0, "rank 0 reads standard input (from a file or pipe)");
  app.add_flag("--shared-heap", options.shared_heap,
               "serve the ranks' allocations of 1 MiB and more from memory that other ranks of the host can map");
  app.add_option("--grace", grace, "seconds from SIGTERM to SIGKILL when the ranks are ended (5)")
      ->check(hocket::arguments::number(0, 3600));
  elastic.add_to(app);
  hosts.add_to(app);
  app.add_option("--agent", agent)->group("");  // what hocket-run starts on each host
  app.prefix_command();                         // everything from PROG on belongs to PROG
  if (const auto ending = hocket::arguments::parse(app, argc, argv)) return hocket::arguments::show(*ending);
  if (agent > 0) return hocket::launch::run_agent(std::chrono::milliseconds(static_cast<std::int64_t>(agent * 1000)));
  options.command = app.remaining();
  if (!options.command.empty() && options.command.front() == "--") options.command.erase(options.command.begin());
  // Not by CLI11, which would ask for ranks where an option is misspelt.
  const bool misspelt = !options.command.empty() && options.command.front().starts_with('-');
  hocket::Status applied = misspelt ? hocket::Status() : hosts.apply(options);
  if (applied && !misspelt) applied = elastic.apply(options);
  if (!applied) return fail(applied.message());
  if (options.ranks == 0 && !misspelt) return fail("--ranks is required. Run hocket-run --help for the options.");
  if (options.command.empty()) return fail("No program given. Usage: hocket-run -n N PROG ARGS...");
  if (misspelt) {
    return fail(fmt::format("Unknown option '{}'. Run hocket-run --help for the options.", options.command.front()));
  }
  if (options.input_to_rank_0 && isatty(STDIN_FILENO)) {
    return fail("--stdin needs a file or a pipe: ranks are not in the terminal's foreground and cannot read it.");
  }
  if (no_label) options.output = hocket::launch::Output::whole;
  options.grace = std::chrono::milliseconds(static_cast<std::int64_t>(grace * 1000));
  return hocket::launch::run(options);
}

}  // namespace

int main(int argc, char** argv) {
  return hocket::guarded_main("hocket-run", argc, argv, run);
}
