// The JSON and CSV documents: one row for each case and placement, with the same names in both.
#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/best_fixed.hpp"
#include "bench/median.hpp"
#include "bench/report.hpp"
#include "hocket/hocket.h"

namespace hocket::bench {
namespace {

using Json = nlohmann::ordered_json;

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

Json describe_host() {
  utsname system{};
  uname(&system);
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof(allowed), &allowed);
  return {{"name", system.nodename},
          {"system", fmt::format("{} {} {}", system.sysname, system.release, system.machine)},
          {"cpu", cpu_model()},
          {"cpus", sysconf(_SC_NPROCESSORS_ONLN)},
          {"cpus_allowed", CPU_COUNT(&allowed)},
          {"memory_bytes", sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE)}};
}

// Counts stay whole numbers where they are.
Json number(double value) {
  if (value == std::floor(value) && value < 1e15) return static_cast<std::int64_t>(value);
  return value;
}

Json describe(const Row& row, const Options& options) {
  const Benchmark& collective = *row.what.collective;
  const Measurement& measured = row.measured;
  const Times& times = measured.time_us;
  Json wrong = nullptr;  // not known
  Json call = nullptr, memory = nullptr;
  if (measured.call_us) {
    call = *measured.call_us;
    memory = row.memory_GBps();
  }
  Json model = nullptr;
  if (row.model_us) model = *row.model_us;
  Json error = nullptr;
  if (const auto known = row.model_error()) error = *known;
  if (options.checks > 0) wrong = measured.findings.wrong + measured.findings.out_of_bounds;
  return {{"collective", collective.name()},
          {"ranks", row.ranks},
          {"transport", measured.transport},
          {"algorithm", measured.algorithm},
          {"wire", measured.wire},
          {"dtype", collective.has_data() ? name_of(row.what.dtype) : "none"},
          {"op", collective.row->reduces() ? name_of(row.what.op) : "none"},
          {"root", collective.row->has_root() ? row.what.root : no_rank},
          {"bytes", bytes_of(row.what, row.ranks)},
          {"count", row.what.count},
          {"placement", row.what.in_place ? "in_place" : "out_of_place"},
          {"memory", options.memory},
          {"fresh", options.fresh},
          {"persistent", options.persistent},
          {"tensors", options.tensors},
          {"iterations", measured.iterations},
          {"time_us",
           {{"min", times.min},
            {"p50", times.p50},
            {"p90", times.p90},
            {"p99", times.p99},
            {"max", times.max},
            {"mean", times.mean}}},
          {"call_us", call},
          {"memory_GBps", memory},
          {"model_us", model},
          {"model_error", error},
          {"algbw_GBps", row.algbw_GBps()},
          {"busbw_GBps", row.busbw_GBps()},
          {"cpu_us_per_op", measured.cpu_us_per_op},
          {"steps_per_rank", number(measured.steps_per_rank)},
          {"bytes_sent_per_rank", number(measured.bytes_sent_per_rank)},
          {"wrong", wrong}};
}

Json describe(const Survival& survival) {
  const auto times = [](const std::vector<double>& us) {
    return Json{{"median", median_of(us)}, {"worst", std::ranges::max(us)}, {"ranks", us}};
  };
  return {{"rank", survival.kill.rank},
          {"iteration", survival.kill.iteration},
          {"during", survival.during},
          {"ranks_left", survival.ranks},
          {"detection_us", times(survival.detection_us)},
          {"shrink_us", times(survival.shrink_us)},
          {"recovery_us", times(survival.recovery_us)},
          {"right", survival.right}};
}

}  // namespace

std::string to_json(const std::vector<Row>& rows, const Options& options, const std::optional<Survival>& survival) {
  Json document = {{"version", hocket_version()}, {"host", describe_host()}, {"rows", Json::array()}};
  for (const Row& row : rows) document["rows"].push_back(describe(row, options));
  if (survival) document["kill"] = describe(*survival);
  return document.dump(2) + "\n";
}

std::string to_json(const std::vector<Contest>& contests, const Options& options) {
  Json document = {{"version", hocket_version()},
                   {"host", describe_host()},
                   {"transport", options.transport},
                   {"rounds", options.rounds},
                   {"contests", Json::array()}};
  const auto describe_standing = [](const Standing& each) {
    return Json{{"named", each.named},
                {"transport", each.transport},
                {"algorithm", each.algorithm},
                {"time_us", each.time_us},
                {"rounds_us", each.rounds_us}};
  };
  for (const Contest& contest : contests) {
    const Benchmark& collective = *contest.what.collective;
    Json row = {{"collective", collective.name()},
                {"ranks", contest.ranks},
                {"dtype", name_of(contest.what.dtype)},
                {"op", collective.row->reduces() ? name_of(contest.what.op) : "none"},
                {"root", collective.row->has_root() ? contest.what.root : no_rank},
                {"bytes", bytes_of(contest.what, contest.ranks)},
                {"placement", contest.what.in_place ? "in_place" : "out_of_place"},
                {"auto", describe_standing(contest.automatic)},
                {"fixed", Json::array()},
                {"slower", contest.slower},
                {"wrong", contest.findings.wrong + contest.findings.out_of_bounds}};
    for (const Standing& each : contest.fixed) row["fixed"].push_back(describe_standing(each));
    document["contests"].push_back(std::move(row));
  }
  return document.dump(2) + "\n";
}

std::string to_csv(const std::vector<Row>& rows, const Options& options) {
  std::string text;
  for (const Row& row : rows) {
    const Json flat = describe(row, options).flatten();  // "/time_us/min"
    std::string names, values;
    for (const auto& [path, value] : flat.items()) {
      std::string name = path.substr(1);
      std::ranges::replace(name, '/', '_');
      if (!names.empty()) {
        names += ',';
        values += ',';
      }
      names += name;
      if (!value.is_null()) values += value.is_string() ? value.get<std::string>() : value.dump();
    }
    if (text.empty()) text = names + "\n";
    text += values + "\n";
  }
  return text;
}

}  // namespace hocket::bench
