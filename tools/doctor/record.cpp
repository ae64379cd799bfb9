#include "tools/doctor/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
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

Step read_step(const Json& json, const std::map<std::uint32_t, Communicator>& communicators) {
  Step step{.communicator = json.at(0),
            .number = json.at(1),
            .call = json.at(2),
            .kind = json.at(3),
            .peer = json.at(4),
            .bytes = json.at(5),
            .began = json.at(6)};
  if (!json.at(7).is_null()) step.ended = json.at(7).get<std::int64_t>();
  // The file has it as a rank of its communicator.
  const auto communicator = communicators.find(step.communicator);
  if (step.peer != no_rank && communicator != communicators.end() && !communicator->second.ranks.empty()) {
    step.peer = communicator->second.ranks.at(static_cast<std::size_t>(step.peer));
  }
  return step;
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
  if (json.contains("steps")) {
    for (const Json& step : json.at("steps")) record.steps.push_back(read_step(step, record.communicators));
  }
  for (const Json& wait : json.at("waits")) record.waits.push_back(read_wait(wait));
  return record;
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

std::string Groups::add(const std::string& text, const std::string& source) {
  try {
    const Json json = Json::parse(text);
    if (!json.is_object() || !json.contains("hocket_record")) return "";
    if (json.at("hocket_record") != format_version) {
      return fmt::format("{} is a record of another version than this program reads", source);
    }
    Record record = read_record(json);
    record.file = source;
    Group& group = groups_[record.group];
    group.name = record.name;
    group.id = record.group;
    group.size = std::max(group.size, record.size);
    const Rank rank = record.rank;
    group.records.insert_or_assign(rank, std::move(record));
    return "";
  } catch (const std::exception& error) {
    return fmt::format("{} is no record that can be read: {}", source, error.what());
  }
}

std::vector<Group> Groups::sorted() && {
  std::vector<Group> sorted;
  for (auto& [id, group] : groups_) sorted.push_back(std::move(group));
  std::ranges::sort(sorted, {}, [](const Group& group) { return group.records.begin()->second.date; });
  return sorted;
}

Result<std::vector<Group>> read_folder(const std::string& folder, std::vector<std::string>& unreadable) {
  std::error_code error;
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".json") files.insert(entry.path().string());
  }
  if (error) return Status(Code::not_found, fmt::format("{} cannot be read: {}", folder, error.message()));
  Groups groups;
  for (const std::string& file : files) {
    std::ifstream stream(file);
    const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
    if (auto problem = groups.add(text, file); !problem.empty()) unreadable.push_back(std::move(problem));
  }
  auto sorted = std::move(groups).sorted();
  if (sorted.empty()) {
    return Status(Code::not_found, fmt::format("{} holds no record of a rank; ranks write there when a communicator "
                                               "breaks and HOCKET_RECORD_DIR names it",
                                               folder));
  }
  return sorted;
}

}  // namespace hocket::doctor
