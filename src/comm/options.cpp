#include "src/comm/options.hpp"

#include <fmt/format.h>

#include <string_view>

#include "src/base/environment.hpp"
#include "src/base/file_contents.hpp"
#include "src/base/host_identity.hpp"
#include "src/base/log.hpp"
#include "src/base/sized_struct.hpp"
#include "src/comm/host_list.hpp"
#include "src/comm/launched_job.hpp"
#include "src/cuda/process_gpus.hpp"
#include "src/spi/schedule.hpp"
#include "src/store/callback_store.hpp"
#include "transports/registry.hpp"

namespace hocket::comm {
namespace {

using environment::Variable;

// The caller's string, else the variable's, else what stands in `value` already.
void choose_text(std::string& value, const char* given, const char* variable) {
  if (given != nullptr && *given != '\0') {
    value = given;
  } else if (const auto found = environment::find({variable})) {
    value = found->value;
  }
}

Status resolve_ranks(const hocket_comm_options& given, Options& options) {
  if (given.world_size != 0) {
    if (given.world_size < 0 || given.world_size > group_ranks_max) {
      return {Code::invalid_argument, fmt::format("options.world_size is {}; it must be 1 … {}, or 0 to take it from "
                                                  "the environment",
                                                  given.world_size, group_ranks_max)};
    }
    if (given.rank < 0 || given.rank >= given.world_size) {
      return {Code::invalid_argument, fmt::format("options.rank is {}; with world_size {} it must be 0 … {}",
                                                  given.rank, given.world_size, given.world_size - 1)};
    }
    options.size = given.world_size;
    options.rank = given.rank;
    return {};
  }
  if (Status may = expect_no_newcomer(); !may.ok()) return may;
  const auto size = environment::in_force("HOCKET_WORLD_SIZE"), rank = environment::in_force("HOCKET_RANK");
  if (!size || !rank) {
    return {Code::invalid_environment,
            fmt::format("{} not set: start the ranks with hocket-run or another launcher, or set RANK and WORLD_SIZE, "
                        "or fill in options.rank and options.world_size",
                        size   ? "the rank is"
                        : rank ? "the world size is"
                               : "rank and world size are")};
  }
  const auto size_number = environment::to_integer(*size, 1, group_ranks_max);
  if (!size_number.ok()) return size_number.status();
  const auto rank_number = environment::to_integer(*rank, 0, *size_number - 1);
  if (!rank_number.ok()) return rank_number.status();
  options.size = static_cast<Rank>(*size_number);
  options.rank = static_cast<Rank>(*rank_number);
  return {};
}

Status resolve_master(const std::string& host, const Variable& port, Options& options) {
  const auto number = environment::to_integer(port, 1, 65535);
  if (!number.ok()) return number.status();
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  // torchrun says so where it serves a store of its own there.
  const auto agent = environment::find({"TORCHELASTIC_USE_AGENT_STORE"});
  options.meeting = MeetingPoint::at(bracketed ? host.substr(1, host.size() - 2) : host,
                                     static_cast<std::uint16_t>(*number), agent && agent->value == "True");
  return {};
}

Status resolve_store_callbacks(const hocket_comm_options& given, Options& options) {
  if (given.store != nullptr && *given.store != '\0') {
    return {Code::invalid_argument, "options.store and options.store_callbacks are both given; leave one of them out"};
  }
  const auto callbacks = CallbackStore::check(given.store_callbacks);
  if (callbacks.ok()) options.callbacks = *callbacks;
  return callbacks.status();
}

Status nowhere_to_meet(bool host_known) {
  return {Code::invalid_environment,
          fmt::format("{} not set and no store is named: start the ranks with hocket-run or another launcher, or set "
                      "HOCKET_STORE (for instance tcp://127.0.0.1:29500, served by hocket-store)",
                      host_known ? "MASTER_PORT is" : "MASTER_ADDR is")};
}

// By what the launcher offers.
Status resolve_launched(Options& options) {
  const auto job = launched_job(options.rank, options.size);
  if (job && job->one_host) {
    options.meeting = MeetingPoint::of_job(job->key);
    return {};
  }
  if (job) options.key_space = key_space_of(options.rank, options.size);
  if (options.key_space != KeySpace::none) return {};
  auto point = job ? meeting_point_by_slurm(options.rank) : meeting_point_by_kubernetes(options.rank);
  if (!point.ok()) return point.status();
  options.meeting = std::move(*point);
  if (options.meeting) return {};
  if (!job) return nowhere_to_meet(false);
  return {Code::invalid_environment,
          fmt::format(
              "the ranks are on several hosts, and nothing says where they meet: set MASTER_ADDR to the host of rank 0 "
              "and MASTER_PORT to a free port there on all ranks (Open MPI: mpirun -x MASTER_ADDR=node0 -x "
              "MASTER_PORT=29500; MPICH: mpirun -genv MASTER_ADDR node0 -genv MASTER_PORT 29500; Slurm: export them), "
              "or HOCKET_STORE{}",
              why_no_key_space())};
}

// A store that others serve, or else where rank 0 serves one itself.
Status resolve_store(const hocket_comm_options& given, Options& options) {
  if (given.store_callbacks != nullptr) return resolve_store_callbacks(given, options);
  if (options.size == 1) return {};
  choose_text(options.store, given.store, "HOCKET_STORE");
  if (!options.store.empty()) return {};
  const auto host = environment::find({"MASTER_ADDR"});
  const auto port = environment::find({"MASTER_PORT"});
  if (host && port) return resolve_master(host->value, *port, options);
  if (!host && !port) return resolve_launched(options);
  return nowhere_to_meet(host.has_value());
}

// After rank, size and store.
Status resolve_trust(const hocket_comm_options& given, Options& options) {
  if (given.secret != nullptr && *given.secret != '\0') {
    options.trust.secret = given.secret;
    auto tls = TlsIdentity::from_environment();
    if (!tls.ok()) return tls.status();
    options.trust.tls = std::move(*tls);
    return check_secret(given.secret, "options.secret");
  }
  auto trust = Trust::from_environment();
  if (!trust.ok()) return trust.status();
  options.trust = std::move(*trust);
  const Trust& trusted = options.trust;
  const bool may_need_none = !trusted.secret.empty() || trusted.insecure || trusted.tls || options.size == 1;
  const bool by_network = options.meeting.has_value() || options.store.starts_with("tcp://");
  if (may_need_none || !by_network || !is_on_several_hosts(options.rank, options.size)) return {};
  return {
      Code::invalid_environment,
      fmt::format("the ranks are on several hosts, and nothing proves who belongs to the job: {}{}", how_to_be_trusted,
                  environment::find({"SLURM_PROCID"}) ? "; below `srun --mpi=pmi2` or `--mpi=pmix`, and without "
                                                        "MASTER_ADDR and HOCKET_STORE, ranks make one themselves"
                                                      : "")};
}

Status resolve_timeout(const hocket_comm_options& given, Options& options) {
  if (given.timeout_ms < 0) {
    return {Code::invalid_argument,
            fmt::format("options.timeout_ms is {}; it must be positive, or 0 for the default", given.timeout_ms)};
  }
  if (given.timeout_ms > 0) {
    options.timeout = timeout_of(given.timeout_ms);
  } else if (const auto variable = environment::find({"HOCKET_TIMEOUT_MS"})) {
    const auto number = environment::to_integer(*variable, 1, INT64_MAX);
    if (!number.ok()) return number.status();
    options.timeout = timeout_of(*number);
  }
  return {};
}

Status resolve_single_copy(const hocket_comm_options&, Options& options) {
  const auto variable = environment::find({"HOCKET_SINGLE_COPY"});
  if (!variable || variable->value == "auto") return {};
  const auto on = environment::to_switch(*variable, "auto, ");
  if (!on.ok()) return on.status();
  options.single_copy = *on ? SingleCopy::always : SingleCopy::never;
  return {};
}

// After the algorithm has been resolved.
Status resolve_determinism(const hocket_comm_options& given, Options& options) {
  if (given.deterministic < -1 || given.deterministic > 1) {
    return {Code::invalid_argument, fmt::format("options.deterministic is {}; it must be 1 (on), -1 (off), or 0 for "
                                                "HOCKET_DETERMINISTIC",
                                                given.deterministic)};
  }
  options.deterministic = given.deterministic == 1;
  if (const auto variable = environment::find({"HOCKET_DETERMINISTIC"}); variable && given.deterministic == 0) {
    const auto on = environment::to_switch(*variable);
    if (!on.ok()) return on.status();
    options.deterministic = *on;
  }
  const auto disordered = options.algorithms.out_of_rank_order();
  if (!options.deterministic || !disordered) return {};
  return {
      Code::unsupported,
      fmt::format("algorithm \"{}\" (options.algorithm or HOCKET_ALGORITHM) does not take the sums of {} in rank "
                  "order, as deterministic mode (options.deterministic or HOCKET_DETERMINISTIC) needs: leave one of "
                  "the two out; `hocket-plan list` shows which algorithms do",
                  disordered->second, name_of(disordered->first))};
}

std::string transport_names() {
  std::string names = "auto";
  for (const TransportEntry& entry : transports()) names += fmt::format(", {}", entry.name);
  return names;
}

Status resolve_names(const hocket_comm_options& given, Options& options) {
  choose_text(options.name, given.name, "HOCKET_JOB");
  choose_text(options.transport, given.transport, "HOCKET_TRANSPORT");
  if (options.name.size() > 256) {
    return {Code::invalid_argument, "the job's name (options.name or HOCKET_JOB) has more than 256 characters"};
  }
  if (Status host = HostIdentity::own().check(); !host.ok()) return host;
  if (options.transport != "auto" && find_transport(options.transport) == nullptr) {
    return {Code::not_found, fmt::format("there is no transport \"{}\" (options.transport or HOCKET_TRANSPORT); this "
                                         "build has: {}",
                                         options.transport, transport_names())};
  }
  return {};
}

Status resolve_algorithms(const hocket_comm_options& given, Options& options) {
  std::string wanted;
  choose_text(wanted, given.algorithm, "HOCKET_ALGORITHM");
  auto choices = Choices::parse(wanted);
  if (!choices.ok()) {
    return {choices.status().code(), "options.algorithm or HOCKET_ALGORITHM: " + choices.status().message()};
  }
  options.algorithms = std::move(*choices);
  auto tuning = tuning_from_environment();
  if (!tuning.ok()) return tuning.status();
  options.tuning = std::move(*tuning);
  return {};
}

// Once in the life of the process.
void warn_of_unknown_names() {
  [[maybe_unused]] static const bool told = [] {
    for (const std::string& sentence : environment::unknown_names()) log::warn(sentence);
    return true;
  }();
}

Result<hocket_comm_options> read(const hocket_comm_options* given) {
  if (const auto copy = read_sized(given)) return *copy;
  return Status(Code::invalid_argument,
                fmt::format("options.struct_size is {}, or a member that this version ({} bytes) does not know is set; "
                            "begin with HOCKET_COMM_OPTIONS_INIT",
                            given->struct_size, sizeof *given));
}

}  // namespace

Result<Tuning> tuning_from_environment() {
  const auto variable = environment::find({"HOCKET_TUNING"});
  if (!variable) return Tuning();
  const auto text = file_contents(variable->value);
  if (!text) {
    return Status(Code::invalid_environment,
                  fmt::format("HOCKET_TUNING is \"{}\", which is not a file that can be read; "
                              "`hocket-plan choose --save` writes one",
                              variable->value));
  }
  auto made = Tuning::parse(*text, variable->value);
  if (!made.ok()) return Status(Code::invalid_environment, "HOCKET_TUNING: " + made.status().message());
  if (!made->empty()) return made;
  return Status(Code::invalid_environment, fmt::format("HOCKET_TUNING: {} holds no table", variable->value));
}

Result<Options> resolve_options(const hocket_comm_options* given) {
  const auto copy = read(given);
  if (!copy.ok()) return copy.status();
  Options options{.gpus = &cuda::process_gpus()};
  warn_of_unknown_names();
  for (const auto step : {&resolve_ranks, &resolve_store, &resolve_trust, &resolve_timeout, &resolve_names,
                          &resolve_algorithms, &resolve_single_copy, &resolve_determinism}) {
    if (Status status = step(*copy, options); !status.ok()) return status;
  }
  return options;
}

Result<Options> resolve_local_options(const hocket_comm_options* given, Rank size) {
  const auto copy = read(given);
  if (!copy.ok()) return copy.status();
  if (size < 1 || size > 1024) {
    return Status(Code::invalid_argument, fmt::format("world_size is {}; ranks as threads can be 1 … 1024", size));
  }
  Options options{.size = size, .gpus = &cuda::process_gpus()};
  for (const auto step : {&resolve_timeout, &resolve_names, &resolve_algorithms, &resolve_determinism}) {
    if (Status status = step(*copy, options); !status.ok()) return status;
  }
  return options;
}

}  // namespace hocket::comm
