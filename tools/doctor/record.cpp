#include "tools/doctor/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

namespace hocket::doctor {
namespace {

using Json = nlohmann::json;

constexpr int format_version = 1;

Call read_call(const Json& json) {
  Call call{.communicator = json.at("communicator"),
            .number = json.at("number"),
            .kind = json.at("kind"),
            .collective = json.at("collective"),
            .text = json.at("call"),
            .algorithm = json.value("algorithm", ""),
            .type = json.at("type"),
            .peer = json.value("peer", no_rank),
            .count = json.value("count", std::uint64_t{0}),
            .bytes = json.value("bytes", std::uint64_t{0}),
            .began = json.value("began_ns", std::int64_t{0})};
  if (json.contains("ended_ns")) call.ended = json.at("ended_ns").get<std::int64_t>();
  return call;
}

Wait read_wait(const Json& json) {
  return {.call = read_call(json),
          .begun = json.at("begun"),
          .seconds = json.at("seconds"),
          .awaited = json.at("awaited"),
          .text = json.at("text")};
}

Record read_record(const Json& json) {
  Record record{.name = json.at("name"),
                .group = json.at("group"),
                .reason = json.at("reason"),
                .rank = json.at("rank"),
                .size = json.at("size"),
                .processes = json.at("processes"),
                .kernel = json.at("clock").at("kernel"),
                .steady = json.at("clock").at("steady_ns"),
                .date = json.at("clock").at("date_ns")};
  if (const Json& cause = json.at("cause"); !cause.is_null()) {
    record.cause = RecordedCause{.code = cause.at("code"),
                                 .message = cause.at("message"),
                                 .operation = cause.at("operation"),
                                 .rank = cause.at("rank"),
                                 .peer = cause.at("peer")};
  }
  for (const Json& communicator : json.at("communicators")) {
    record.communicators[communicator.at("number")] = {
        .name = communicator.at("name"), .ranks = communicator.at("ranks"), .calls = communicator.at("calls")};
  }
  for (const Json& call : json.at("operations")) record.calls.push_back(read_call(call));
  for (const Json& wait : json.at("waits")) record.waits.push_back(read_wait(wait));
  return record;
}

// Nothing where the file is no record; what is wrong goes to `problem`.
std::optional<Record> read_file(const std::string& file, std::string& problem) {
  try {
    std::ifstream stream(file);
    const Json json = Json::parse(stream);
    if (!json.is_object() || !json.contains("hocket_record")) return std::nullopt;
    if (json.at("hocket_record") != format_version) {
      problem = fmt::format("{} is a record of another version than this program reads", file);
      return std::nullopt;
    }
    Record record = read_record(json);
    record.file = file;
    return record;
  } catch (const Json::exception& error) {
    problem = fmt::format("{} is no record that can be read: {}", file, error.what());
    return std::nullopt;
  }
}

}  // namespace

const Call* Record::collective(std::uint32_t communicator, std::uint32_t number) const {
  const auto found = std::ranges::find_if(calls, [&](const Call& call) {
    return !call.is_message() && call.communicator == communicator && call.number == number;
  });
  return found == calls.end() ? nullptr : &*found;
}

const Record* Group::of(Rank rank) const {
  const auto found = records.find(rank);
  return found == records.end() ? nullptr : &found->second;
}

std::vector<Rank> Group::without_record() const {
  std::vector<Rank> missing;
  for (Rank rank = 0; rank < size; ++rank) {
    if (!records.contains(rank)) missing.push_back(rank);
  }
  return missing;
}

Result<std::vector<Group>> read_folder(const std::string& folder, std::vector<std::string>& unreadable) {
  std::error_code error;
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".json") files.insert(entry.path().string());
  }
  if (error) return Status(Code::not_found, fmt::format("{} cannot be read: {}", folder, error.message()));
  std::map<std::string, Group> groups;
  for (const std::string& file : files) {
    std::string problem;
    auto record = read_file(file, problem);
    if (!problem.empty()) unreadable.push_back(problem);
    if (!record) continue;
    Group& group = groups[record->group];
    group.name = record->name;
    group.id = record->group;
    group.size = std::max(group.size, record->size);
    group.records.insert_or_assign(record->rank, std::move(*record));
  }
  if (groups.empty()) {
    return Status(Code::not_found, fmt::format("{} holds no record of a rank; ranks write there when a communicator "
                                               "breaks and HOCKET_RECORD_DIR names it",
                                               folder));
  }
  std::vector<Group> sorted;
  for (auto& [id, group] : groups) sorted.push_back(std::move(group));
  std::ranges::sort(sorted, {}, [](const Group& group) { return group.records.begin()->second.date; });
  return sorted;
}

}  // namespace hocket::doctor
