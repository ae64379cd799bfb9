// What rank 0 shows: a table for people while rows come in, and JSON or CSV for programs at the end.
#pragma once

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/kill.hpp"
#include "bench/measure.hpp"
#include "bench/options.hpp"

namespace hocket::bench {

// One case, measured.
struct Row {
  Case what;
  Measurement measured;
  int ranks = 1;
  std::optional<double> model_us = std::nullopt;  // what the model expects, if it was asked and knows the algorithm

  double algbw_GBps() const;  // 1e9 bytes a second, of the larger buffer, by the typical time
  double busbw_GBps() const;
  double memory_GBps() const;  // that all ranks together read and write
  // How far the model is off, as a part of the time measured: below 0 where it expects less. Nothing without a model.
  std::optional<double> model_error() const;
};

class Report {
 public:
  // Opens the files that were asked for. Code::invalid_argument names one that cannot be written.
  static Result<Report> open(const Options& options);

  void begin(int ranks);
  // One line of the table: what was measured in either placement.
  void add(const std::optional<Row>& out_of_place, const std::optional<Row>& in_place);
  // What came of a rank's death.
  void survived(const Survival& survival);
  // Writes the last lines and the files. Code::out_of_resources where a file could not be written in full.
  Status finish();
  // Whether every element was, and every byte where it belongs.
  bool is_right() const;

 private:
  explicit Report(const Options& options) : options_(options) {}

  struct Close {
    void operator()(std::FILE* file) const;
  };
  using File = std::unique_ptr<std::FILE, Close>;

  static Result<File> open_file(const std::string& name);

  Options options_;
  std::FILE* table_ = stdout;  // standard error where standard output carries JSON or CSV
  File json_, csv_;
  Findings findings() const;  // of all rows

  std::vector<Row> rows_;
  std::optional<Survival> survival_;
};

// Code::out_of_resources where the file cannot be written in full. "-": standard output; empty: nothing is done.
Status write_document(const std::string& file, const std::string& text);

// The documents, for tests too.
std::string to_json(const std::vector<Row>& rows, const Options& options,
                    const std::optional<Survival>& survival = std::nullopt);
std::string to_csv(const std::vector<Row>& rows, const Options& options);

}  // namespace hocket::bench
