#include "tools/sgd/report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/sgd/problem.hpp"

namespace hocket::sgd {
namespace {

using nlohmann::ordered_json;

constexpr double mega = 1e6;

ordered_json to_json(const StepTimes& times) {
  return {{"compute_seconds", times.compute}, {"wait_seconds", times.wait}, {"update_seconds", times.update}};
}

ordered_json to_json(const Fit& fit) {
  return {{"alpha_seconds", fit.alpha},
          {"bytes_per_second", fit.bandwidth},  // null: infinite
          {"r_squared", fit.r_squared},
          {"median_error", fit.median_error}};
}

ordered_json to_json(const Measured& one) {
  return {{"way", one.way == Way::ring ? "ring" : "naive"},
          {"ranks", one.ranks},
          {"bytes", one.bytes},
          {"steps", {one.steps.least, one.steps.most}},
          {"steps_expected", one.expected_steps()},
          {"bytes_sent", {one.sent.least, one.sent.most}},
          {"bytes_expected", one.expected_bytes()},
          {"sums_right", one.sums_right},
          {"holds", one.holds()},
          {"calls", one.calls},
          {"seconds", one.seconds}};
}

ordered_json to_json(const Trial& trial) {
  ordered_json row = to_json(trial.times);
  row["ranks"] = trial.ranks;
  row["exchange"] = trial.exchange;
  row["measured_speedup"] = trial.measured_speedup();
  if (!trial.overlaps && trial.ranks > 1) {
    row["sync_over_compute"] = trial.ratio();
    row["formula_speedup"] = trial.formula_speedup();
  }
  return row;
}

std::string extremes_text(const Extremes& extremes) {
  return extremes.least == extremes.most ? fmt::to_string(extremes.least)
                                         : fmt::format("{}…{}", extremes.least, extremes.most);
}

void print_counts(const Proven& proven) {
  fmt::print("What was counted, on every rank of a ring and on rank 0 of the naive way, and how long it took:\n\n");
  fmt::print("{:>2} {:>8}  {:>6} {:>6} {:>12} {:>12}  {:>9} {:>9}  {:>6} {:>10}  {:>9} {:>7}\n", "N", "S", "steps",
             "2(N-1)", "bytes sent", "2(N-1)/N·S", "time ms", "model ms", "naive:", "bytes", "time ms", "slower");
  for (const Measured& ring : proven.measured) {
    if (ring.way != Way::ring) continue;
    const Sample sample = ring.sample();
    fmt::print("{:>2} {:>8}  {:>6} {:>6} {:>12} {:>12}  {:>9.2f} {:>9.2f}", ring.ranks, size_text(ring.bytes),
               extremes_text(ring.steps), ring.expected_steps(), extremes_text(ring.sent), ring.expected_bytes(),
               ring.seconds * 1e3, proven.ring.seconds(sample.messages, sample.bytes) * 1e3);
    if (const Measured* naive = proven.find(Way::naive, ring.ranks, ring.bytes)) {
      fmt::print("  {:>17} {:>10.2f} {:>6.1f}x", naive->sent.most, naive->seconds * 1e3, naive->seconds / ring.seconds);
    }
    fmt::print("{}\n", ring.holds() ? "" : "  WRONG");
  }
}

void print_fit(const char* name, const char* formula, const Fit& fit) {
  fmt::print("{:<6} t = {:<24} {}\n", name, formula, fit_text(fit));
}

void print_trials(const Proven& proven) {
  fmt::print("\nA step of training, {:.1f} MB of gradients, one batch shared out among N ranks ({} cores here):\n\n",
             static_cast<double>(proven.gradient_bytes) / mega, proven.cores);
  fmt::print("{:>2}  {:<32} {:>10} {:>10} {:>9} {:>13} {:>9} {:>9}\n", "N", "gradients leave", "T_comp ms", "wait ms",
             "step ms", "T_sync/T_comp", "formula", "speed-up");
  for (const Trial& trial : proven.trials) {
    fmt::print("{:>2}  {:<32} {:>10.1f} {:>10.1f} {:>9.1f}", trial.ranks, trial.exchange, trial.times.compute * 1e3,
               trial.times.wait * 1e3, trial.times.total() * 1e3);
    if (trial.ranks > 1 && !trial.overlaps) {
      fmt::print(" {:>6.2f} {} {:>2}", trial.ratio(),
                 trial.ratio() < trial.ranks - 1 ? "< N-1 =" : "≥ N-1 =", trial.ranks - 1);
      fmt::print(" {:>7.2f}x", trial.formula_speedup());
    } else {
      fmt::print("{:>23}", "");
    }
    fmt::print(" {:>8.2f}x\n", trial.measured_speedup());
  }
}

}  // namespace

std::string size_text(std::size_t bytes) {
  if (bytes >= std::size_t{1} << 20) return fmt::format("{} MiB", (bytes + (1U << 19)) >> 20);
  if (bytes >= std::size_t{1} << 10) return fmt::format("{} KiB", (bytes + (1U << 9)) >> 10);
  return fmt::format("{} B", bytes);
}

std::string fit_text(const Fit& fit) {
  const std::string speed = std::isfinite(fit.bandwidth) ? fmt::format("B = {:.1f} MB/s", fit.bandwidth / mega)
                                                         : "B too large to show in these times";
  return fmt::format("α = {:.0f} µs, {}, R² = {:.4f}, median error {:.1f} %", fit.alpha * 1e6, speed, fit.r_squared,
                     fit.median_error * 100);
}

void print(const Epoch& epoch) {
  const auto milliseconds = [](double seconds) { return fmt::format("{:.2f}", seconds * 1e3); };
  fmt::print(
      "epoch {}: loss {:.6f}, accuracy {:.2f} %, rate {:.4g}; a step took {} ms: {} compute, {} wait, {} update\n",
      epoch.number, epoch.loss, epoch.accuracy * 100, epoch.rate, milliseconds(epoch.times.total()),
      milliseconds(epoch.times.compute), milliseconds(epoch.times.wait), milliseconds(epoch.times.update));
  std::fflush(stdout);
}

void print(const Change& change) {
  std::string what;
  if (change.lost > 0) what = fmt::format("{} lost", change.lost);
  if (change.joined > 0) what += fmt::format("{}{} joined", what.empty() ? "" : ", ", change.joined);
  fmt::print("{} rank{} from step {} on: {}\n", change.ranks, change.ranks == 1 ? "" : "s", change.step, what);
  std::fflush(stdout);
}

void print(const Proven& proven) {
  fmt::print("Links: {}.\n\n", proven.links.empty() ? "those of the launcher" : proven.links);
  print_counts(proven);
  fmt::print("\nLeast squares of the relative errors of the formula:\n");
  print_fit("ring", "2(N-1) · (α + S/(N·B))", proven.ring);
  print_fit("naive", "2(N-1) · (α + S/B)", proven.naive);
  for (const std::string& doubt : proven.doubts()) fmt::print("Note: {}\n", doubt);
  print_trials(proven);
  fmt::print("\n{}\n", proven.holds()
                           ? "Every counted fact holds: 2(N-1) steps and 2(N-1)/N·S bytes on every rank, exactly."
                           : "A counted fact does NOT hold: see the lines marked WRONG.");
  std::fflush(stdout);
}

std::string to_json(const Trained& trained, int ranks) {
  ordered_json epochs = ordered_json::array();
  for (const Epoch& epoch : trained.epochs) {
    ordered_json row = {{"epoch", epoch.number},
                        {"steps", epoch.steps},
                        {"loss", epoch.loss},
                        {"accuracy", epoch.accuracy},
                        {"rate", epoch.rate}};
    row.update(to_json(epoch.times));
    epochs.push_back(row);
  }
  ordered_json changes = ordered_json::array();
  for (const Change& change : trained.changes) {
    changes.push_back(
        {{"step", change.step}, {"ranks", change.ranks}, {"lost", change.lost}, {"joined", change.joined}});
  }
  ordered_json hash;  // null where the weights are no numbers
  ordered_json hashes = ordered_json::array();
  for (const std::uint64_t one : trained.hashes) hashes.push_back(fmt::format("{:016x}", one));
  if (trained.finite) hash = hashes.front();
  const ordered_json document = {
      {"ranks", ranks},       {"parameters", trained.parameters}, {"buckets", trained.buckets},
      {"weights_hash", hash}, {"ranks_hashes", hashes},           {"changes", changes},
      {"epochs", epochs}};
  return document.dump(2) + "\n";
}

std::string to_json(const Proven& proven) {
  ordered_json measured = ordered_json::array(), trials = ordered_json::array();
  for (const Measured& one : proven.measured) measured.push_back(to_json(one));
  for (const Trial& trial : proven.trials) trials.push_back(to_json(trial));
  const ordered_json document = {{"links", proven.links},
                                 {"cores", proven.cores},
                                 {"holds", proven.holds()},
                                 {"ring", to_json(proven.ring)},
                                 {"naive", to_json(proven.naive)},
                                 {"doubts", proven.doubts()},
                                 {"measured", measured},
                                 {"gradient_bytes", proven.gradient_bytes},
                                 {"training", trials}};
  return document.dump(2) + "\n";
}

void write_file(const std::string& name, const std::string& text) {
  if (name == "-") {
    fmt::print("{}", text);
    return;
  }
  std::ofstream file(name);
  file << text;
  file.close();
  if (!file) throw Problem(fmt::format("Cannot write {}.", name));
}

}  // namespace hocket::sgd
