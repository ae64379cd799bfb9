// hocket-doctor: reads what ranks have written about themselves and says what happened.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/arguments.hpp"
#include "tools/doctor/diagnosis.hpp"
#include "tools/doctor/export.hpp"
#include "tools/doctor/job.hpp"
#include "tools/doctor/picture.hpp"
#include "tools/guarded_main.hpp"

namespace {

using hocket::doctor::Diagnosis;
using hocket::doctor::Group;

constexpr int healthy = 0, found_something = 1, usage_error = 2;

struct Options {
  std::string folder, job, store, trace, pytorch;
  int calls = 10, patience = 5;
  bool json = false;
};

int fail(const std::string& sentence) {
  fmt::print(stderr, "hocket-doctor: {}\n", sentence);
  return usage_error;
}

bool write(const std::string& file, const std::string& text) {
  std::ofstream stream(file, std::ios::binary);
  stream << text;
  stream.close();
  return static_cast<bool>(stream);
}

// The group with the most ranks, and of several such the latest: what is converted.
const Group& largest(const std::vector<Group>& groups) {
  const Group* found = &groups.front();
  for (const Group& group : groups) {
    if (group.records.size() >= found->records.size()) found = &group;
  }
  return *found;
}

bool convert(const Options& options, const Group& group) {
  if (!options.trace.empty() && !write(options.trace, hocket::doctor::trace_of(group))) return false;
  if (options.pytorch.empty()) return true;
  std::error_code error;
  std::filesystem::create_directories(options.pytorch, error);
  for (const auto& [rank, record] : group.records) {
    const std::string file = fmt::format("{}/hocket_rank_{}", options.pytorch, rank);
    if (!write(file, hocket::doctor::pytorch_dump(group, record))) return false;
  }
  return true;
}

void print_for_people(const Options& options, const Group& group, const Diagnosis& diagnosis, bool several) {
  if (several) fmt::print("\"{}\", {} ranks:\n", group.name, group.size);
  fmt::print("{}\n\n{}\n", diagnosis.sentence, draw(group, options.calls, ::isatty(STDOUT_FILENO) != 0));
}

hocket::Result<std::vector<Group>> read(const Options& options, std::vector<std::string>& unreadable) {
  if (options.job.empty()) return hocket::doctor::read_folder(options.folder, unreadable);
  const auto store = hocket::doctor::open_job_store(options.store);
  if (!store.ok()) return store.status();
  return hocket::doctor::read_job(**store, options.job, std::chrono::seconds(options.patience), unreadable);
}

int run_with(const Options& options) {
  std::vector<std::string> unreadable;
  const auto groups = read(options, unreadable);
  for (const std::string& sentence : unreadable) fmt::print(stderr, "hocket-doctor: {}\n", sentence);
  if (!groups.ok()) return fail(groups.status().message());
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  bool ill = false;
  for (const Group& group : *groups) {
    const Diagnosis diagnosis = hocket::doctor::diagnose(group);
    ill |= diagnosis.kind != "nothing";
    json.push_back({{"name", group.name},
                    {"group", group.id},
                    {"size", group.size},
                    {"kind", diagnosis.kind},
                    {"rank", diagnosis.rank},
                    {"sentence", diagnosis.sentence},
                    {"without_record", group.without_record()}});
    if (!options.json) print_for_people(options, group, diagnosis, groups->size() > 1);
  }
  if (options.json) fmt::print("{}\n", json.dump(1));
  if (!convert(options, largest(*groups))) return fail("a file that was asked for could not be written");
  return ill ? found_something : healthy;
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app{
      "Reads the records that ranks have written to a folder (HOCKET_RECORD_DIR), or asks those of a running job for "
      "them (HOCKET_REPORT), and says in a sentence what happened and which rank was first, with a picture of the last "
      "calls of all ranks. Its exit status is 0 where nothing broke or waits, else 1.",
      "hocket-doctor"};
  auto* const folder = app.add_option("DIR", options.folder, "the folder with the records");
  folder->check(CLI::ExistingDirectory);
  auto* const job = app.add_option("--job", options.job, "in place of DIR: the running job to ask (HOCKET_JOB)");
  job->check(hocket::arguments::not_empty())->excludes(folder);
  app.add_option("--store", options.store,
                 "the job's store (default: HOCKET_STORE, or MASTER_ADDR and MASTER_PORT); its secret comes from "
                 "HOCKET_SECRET or HOCKET_SECRET_FILE")
      ->needs(job);
  app.add_option("--patience", options.patience, "for how many seconds to wait for answers of ranks")
      ->check(CLI::Range(1, 3600))
      ->needs(job)
      ->capture_default_str();
  app.add_option("--calls", options.calls, "how many calls of each communicator to show")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app.add_flag("--json", options.json, "print what was found as JSON, without the picture");
  app.add_option("--trace", options.trace, "also write the operations of all ranks to this file, for Perfetto")
      ->check(hocket::arguments::writable_file());
  app.add_option("--pytorch", options.pytorch,
                 "also write a file for each rank to this folder, for PyTorch's flight recorder analysis (its prefix: "
                 "hocket_rank_)")
      ->check(hocket::arguments::not_empty());
  if (const auto ending = hocket::arguments::parse(app, argc, argv)) return hocket::arguments::show(*ending);
  if (options.folder.empty() && options.job.empty()) return fail("name the folder with the records, or a job (--job)");
  return run_with(options);
}

}  // namespace

int main(int argc, char** argv) {
  return hocket::guarded_main("hocket-doctor", argc, argv, run);
}
