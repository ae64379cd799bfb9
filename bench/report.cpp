#include "bench/report.hpp"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "bench/median.hpp"
#include "hocket/hocket.h"

namespace hocket::bench {
namespace {

std::string time_text(double us) {
  return fmt::format("{:.{}f}", us, us >= 10'000 ? 0 : us >= 100 ? 1 : 2);
}

// One of the columns under a placement: its two lines of head, its width, and what stands there.
struct Column {
  const char* head;
  const char* unit;
  int width;
  std::string (*text)(const Row&, const Options&);
};

std::vector<Column> columns_of(const Options& options) {
  std::vector<Column> columns = {
      {"time", "(us)", 8, [](const Row& row, const Options&) { return time_text(row.measured.typical_us); }}};
  if (options.memory == cuda_memory) {
    columns.push_back({"call", "(us)", 8,
                       [](const Row& row, const Options&) { return time_text(row.measured.call_us.value_or(0)); }});
  }
  if (!options.model_file.empty()) {
    columns.push_back({"model", "(us)", 8, [](const Row& row, const Options&) {
                         return row.model_error() ? time_text(*row.model_us) : std::string("-");
                       }});
    columns.push_back({"error", "(%)", 5, [](const Row& row, const Options&) {
                         const auto error = row.model_error();
                         return error ? fmt::format("{:+.0f}", *error * 100) : std::string("-");
                       }});
  }
  columns.push_back(
      {"algbw", "(GB/s)", 6, [](const Row& row, const Options&) { return fmt::format("{:.2f}", row.algbw_GBps()); }});
  columns.push_back(
      {"busbw", "(GB/s)", 6, [](const Row& row, const Options&) { return fmt::format("{:.2f}", row.busbw_GBps()); }});
  if (options.memory == cuda_memory) {
    columns.push_back({"memory", "(GB/s)", 7,
                       [](const Row& row, const Options&) { return fmt::format("{:.1f}", row.memory_GBps()); }});
  }
  columns.push_back({"#wrong", "", 6, [](const Row& row, const Options& with) {
                       return with.checks > 0 ? fmt::format("{}", row.measured.findings.wrong) : std::string("N/A");
                     }});
  return columns;
}

std::string measured_columns(const std::optional<Row>& row, const Options& options) {
  std::string line;
  for (const Column& column : columns_of(options)) {
    line += fmt::format("  {:>{}}", row ? column.text(*row, options) : "-", column.width);
  }
  return line;
}

// "median error 12 % (largest 40 %) over 34 of 36 rows".
std::string model_text(const std::vector<Row>& rows) {
  std::vector<double> errors;
  for (const Row& row : rows) {
    if (const auto error = row.model_error()) errors.push_back(std::abs(*error));
  }
  if (errors.empty()) return "has no times for what ran here (lower precision, threads, send and recv)";
  std::ranges::sort(errors);
  return fmt::format("median error {:.0f} % (largest {:.0f} %) over {} of {} rows", errors[errors.size() / 2] * 100,
                     errors.back() * 100, errors.size(), rows.size());
}

std::string method_text(const Options& options) {
  const std::string amount = options.iterations > 0 ? fmt::format("{} operations", options.iterations)
                                                    : fmt::format("{} s (5 to 100000 operations)", options.seconds);
  const std::string time = options.warmup_seconds > 0 ? fmt::format(" and {} s", options.warmup_seconds) : "";
  return fmt::format("{} for each size after {}{} to warm up, {}, {} checked", amount, options.warmup, time,
                     options.fresh                           ? "one by one on fresh input"
                     : options.collective->comes_in_bursts() ? "back to back (times are means)"
                                                             : "back to back",
                     options.checks) +
         (options.persistent ? ", planned once and started for each operation" : "") +
         (options.tensors > 0 ? fmt::format(", on lists of {} tensors", options.tensors) : "");
}

// What moved the data, and from which size to which: "shm, direct one-shot (4 to 64K); shm, direct staged (256K to
// 64M)".
std::string used_text(const std::vector<Row>& rows) {
  struct Used {
    std::string what;
    std::uint64_t least, most;
  };
  std::vector<Used> all;
  for (const Row& row : rows) {
    const std::string wire = row.measured.wire == "exact" ? "" : ", " + row.measured.wire;
    const std::string what = fmt::format("{}, {}{}", row.measured.transport, row.measured.algorithm, wire);
    const std::uint64_t bytes = bytes_of(row.what, row.ranks);
    const auto found = std::ranges::find(all, what, &Used::what);
    if (found == all.end()) {
      all.push_back({what, bytes, bytes});
    } else {
      found->least = std::min(found->least, bytes);
      found->most = std::max(found->most, bytes);
    }
  }
  std::string text;
  for (const Used& used : all) {
    text += fmt::format("{}{} ({} to {})", text.empty() ? "" : "; ", used.what, size_text(used.least),
                        size_text(used.most));
  }
  return text;
}

}  // namespace

double Row::algbw_GBps() const {
  const double us = measured.typical_us;
  return us > 0 ? static_cast<double>(bytes_of(what, ranks)) / us / 1e3 : 0;
}

double Row::busbw_GBps() const {
  return algbw_GBps() * bus_factor(*what.collective->row, ranks);
}

double Row::memory_GBps() const {
  const double us = measured.typical_us;
  return us > 0 ? static_cast<double>(touched_bytes(what, ranks)) / us / 1e3 : 0;
}

std::optional<double> Row::model_error() const {
  const double us = measured.typical_us;
  return model_us && us > 0 ? std::optional((*model_us - us) / us) : std::nullopt;
}

void Report::Close::operator()(std::FILE* file) const {
  if (file != stdout) std::fclose(file);
}

Result<Report::File> Report::open_file(const std::string& name) {
  if (name.empty()) return File();
  if (name == "-") return File(stdout);
  File file(std::fopen(name.c_str(), "w"));
  if (file == nullptr) {
    return Status(Code::invalid_argument, fmt::format("Cannot write '{}': {}.", name, strerror(errno)));
  }
  return file;
}

Result<Report> Report::open(const Options& options) {
  Report report(options);
  Result<File> json = open_file(options.json_file);
  if (!json) return json.status();
  Result<File> csv = open_file(options.csv_file);
  if (!csv) return csv.status();
  report.json_ = std::move(json).value();
  report.csv_ = std::move(csv).value();
  if (options.json_file == "-" || options.csv_file == "-") report.table_ = stderr;
  return report;
}

void Report::begin(int ranks) {
  fmt::print(table_, "# hocket-bench {}: {} on {} ranks, transport {}, algorithm {}, {} memory\n", hocket_version(),
             options_.collective->name(), ranks, options_.transport, options_.algorithm, options_.memory);
  fmt::print(table_, "# {}\n", method_text(options_));
  fmt::print(table_, "# time: median over operations of the slowest rank's time; 1 GB = 1e9 bytes\n");
  if (options_.memory == cuda_memory) {
    fmt::print(table_,
               "# time: of batches, until the device is done; call: the host's time in a call; memory: what all ranks\n"
               "# together read and write, each input and each output once; GPU {}\n",
               options_.device);
  }
  fmt::print(table_, "#\n");
  std::string columns, units;
  for (const Column& column : columns_of(options_)) {
    columns += fmt::format("  {:>{}}", column.head, column.width);
    units += fmt::format("  {:>{}}", column.unit, column.width);
  }
  fmt::print(table_, "#{:>11}  {:>12}  {:>8}  {:>6}  {:>6}  {:^{}}  {:^{}}\n", "", "", "", "", "", "out of place",
             columns.size() - 2, "in place", columns.size() - 2);
  fmt::print(table_, "#{:>11}  {:>12}  {:>8}  {:>6}  {:>6}{}{}\n", "size", "count", "type", "redop", "root", columns,
             columns);
  fmt::print(table_, "#{:>11}  {:>12}  {:>8}  {:>6}  {:>6}{}{}\n", "(B)", "(elements)", "", "", "", units, units);
  std::fflush(table_);
}

void Report::add(const std::optional<Row>& out_of_place, const std::optional<Row>& in_place) {
  const Row& row = out_of_place ? *out_of_place : *in_place;
  const Benchmark& collective = *row.what.collective;
  const bool has_data = collective.has_data();
  fmt::print(table_, "{:>12}  {:>12}  {:>8}  {:>6}  {:>6}{}{}\n", bytes_of(row.what, row.ranks), row.what.count,
             has_data ? name_of(row.what.dtype) : "none", collective.row->reduces() ? name_of(row.what.op) : "none",
             collective.row->has_root() ? row.what.root : no_rank, measured_columns(out_of_place, options_),
             measured_columns(in_place, options_));
  std::fflush(table_);
  if (out_of_place) rows_.push_back(*out_of_place);
  if (in_place) rows_.push_back(*in_place);
}

void Report::survived(const Survival& survival) {
  survival_ = survival;
  fmt::print(table_, "#\n# Rank {} killed itself at operation {}, {}; {} rank{} go{} on from there.\n",
             survival.kill.rank, survival.kill.iteration, survival.during, survival.ranks,
             survival.ranks == 1 ? "" : "s", survival.ranks == 1 ? "es" : "");
  fmt::print(table_, "# {:<40}  {:>10}  {:>10}\n", "milliseconds, over the ranks that are left", "median", "worst");
  const auto line = [&](const char* what, const std::vector<double>& us) {
    fmt::print(table_, "# {:<42}  {:>10.3f}  {:>10.3f}\n", what, median_of(us) / 1e3, std::ranges::max(us) / 1e3);
  };
  line("detection: death to failure of a call", survival.detection_us);
  line("shrink", survival.shrink_us);
  line("recovery: death to the first right result", survival.recovery_us);
  if (!survival.right) fmt::print(table_, "# The first result without it was WRONG.\n");
  fmt::print(table_, "#\n");
  std::fflush(table_);
}

bool Report::is_right() const {
  const Findings found = findings();
  return found.wrong + found.out_of_bounds == 0 && (!survival_ || survival_->right);
}

Status write_document(const std::string& file, const std::string& text) {
  if (file.empty()) return {};
  std::FILE* const out = file == "-" ? stdout : std::fopen(file.c_str(), "w");
  const bool written = out != nullptr && std::fwrite(text.data(), 1, text.size(), out) == text.size() &&
                       (out == stdout ? std::fflush(out) : std::fclose(out)) == 0;
  if (written) return {};
  return {Code::out_of_resources, fmt::format("Cannot write the results to '{}': {}.", file, strerror(errno))};
}

Findings Report::findings() const {
  Findings sum;
  for (const Row& row : rows_) sum += row.measured.findings;
  return sum;
}

Status Report::finish() {
  const Findings found = findings();
  double busbw = 0;
  for (const Row& row : rows_) busbw += row.busbw_GBps() / static_cast<double>(rows_.size());
  if (options_.checks > 0) {
    fmt::print(table_, "# Wrong elements       : {} {}\n", found.wrong, found.wrong == 0 ? "OK" : "FAILED");
    fmt::print(table_, "# Bytes out of bounds  : {} {}\n", found.out_of_bounds,
               found.out_of_bounds == 0 ? "OK" : "FAILED");
  } else {
    fmt::print(table_, "# Results were not checked (-c 0)\n");
  }
  fmt::print(table_, "# Moved by             : {}\n", used_text(rows_));
  if (!options_.model_file.empty()) fmt::print(table_, "# Model                : {}\n", model_text(rows_));
  fmt::print(table_, "# Average bus bandwidth: {:.3f} GB/s\n", busbw);
  std::fflush(table_);

  const auto write = [](const File& file, const std::string& name, const std::string& text) -> Status {
    if (file == nullptr) return {};
    if (std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() && std::fflush(file.get()) == 0) return {};
    return {Code::out_of_resources, fmt::format("Cannot write the results to '{}': {}.", name, strerror(errno))};
  };
  if (const Status written = write(json_, options_.json_file, to_json(rows_, options_, survival_)); !written)
    return written;
  return write(csv_, options_.csv_file, to_csv(rows_, options_));
}

}  // namespace hocket::bench
