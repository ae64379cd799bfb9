#include "tools/doctor/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "src/base/printable.hpp"

namespace hocket::doctor {
namespace {

using PlainJson = nlohmann::json;

constexpr int format_version = 1;
constexpr std::size_t text_bytes_max = 65536;
constexpr std::int64_t time_max = std::int64_t{1} << 60;  // differences of sums of times do not overflow

// Ranks of other hosts have written it, or whoever may write to the folder or the store.
std::string text_of(const PlainJson& json) {
  return printable(json.get<std::string>(), text_bytes_max);
}

// A whole number within these bounds.
std::int64_t record_number_of(const PlainJson& json, std::int64_t least, std::int64_t most) {
  const bool whole =
      json.is_number_unsigned() ? json.get<std::uint64_t>() <= std::uint64_t{INT64_MAX} : json.is_number_integer();
  const std::int64_t number = whole ? json.get<std::int64_t>() : 0;
  if (!whole || number < least || number > most) {
    throw std::invalid_argument(fmt::format("{} is no number from {} to {}", json.dump(), least, most));
  }
  return number;
}

Rank rank_of(const PlainJson& json, Rank least = 0) {
  return static_cast<Rank>(record_number_of(json, least, group_ranks_max - 1));
}

std::vector<Rank> ranks_of(const PlainJson& json) {
  std::vector<Rank> ranks;
  for (const PlainJson& rank : json) ranks.push_back(rank_of(rank));
  return ranks;
}

std::int64_t time_of(const PlainJson& json) {
  return record_number_of(json, -time_max, time_max);
}

std::uint32_t count_of(const PlainJson& json) {
  return static_cast<std::uint32_t>(record_number_of(json, 0, UINT32_MAX));
}

Call read_call(const PlainJson& json) {
  Call call{.communicator = count_of(json.at("communicator")),
            .number = count_of(json.at("number")),
            .kind = text_of(json.at("kind")),
            .collective = text_of(json.at("collective")),
            .text = text_of(json.at("call")),
            .algorithm = text_of(json.value("algorithm", PlainJson(""))),
            .type = text_of(json.at("type")),
            .peer = rank_of(json.value("peer", PlainJson(no_rank)), no_rank),
            .count = json.value("count", std::uint64_t{0}),
            .bytes = json.value("bytes", std::uint64_t{0}),
            .began = time_of(json.value("began_ns", PlainJson(0)))};
  if (json.contains("ended_ns")) call.ended = time_of(json.at("ended_ns"));
  call.exact = json.value("exact", true);
  return call;
}

Step read_step(const PlainJson& json, const std::map<std::uint32_t, Communicator>& communicators) {
  Step step{.communicator = count_of(json.at(0)),
            .number = count_of(json.at(1)),
            .call = text_of(json.at(2)),
            .kind = text_of(json.at(3)),
            .peer = rank_of(json.at(4), no_rank),
            .bytes = json.at(5),
            .began = time_of(json.at(6))};
  if (!json.at(7).is_null()) step.ended = time_of(json.at(7));
  // The file has it as a rank of its communicator.
  const auto communicator = communicators.find(step.communicator);
  if (step.peer != no_rank && communicator != communicators.end() && !communicator->second.ranks.empty()) {
    step.peer = communicator->second.ranks.at(static_cast<std::size_t>(step.peer));
  }
  return step;
}

Wait read_wait(const PlainJson& json) {
  return {.call = read_call(json),
          .begun = json.at("begun"),
          .seconds = json.at("seconds"),
          .awaited = ranks_of(json.at("awaited")),
          .text = text_of(json.at("text"))};
}

Record read_record(const PlainJson& json) {
  Record record{.name = text_of(json.at("name")),
                .group = text_of(json.at("group")),
                .reason = text_of(json.at("reason")),
                .rank = rank_of(json.at("rank")),
                .size = static_cast<Rank>(record_number_of(json.at("size"), 1, group_ranks_max)),
                .kernel = text_of(json.at("clock").at("kernel")),
                .steady = time_of(json.at("clock").at("steady_ns")),
                .date = record_number_of(json.at("clock").at("date_ns"), INT64_MIN, INT64_MAX)};
  if (record.rank >= record.size) throw std::invalid_argument("its rank is not one of its group");
  for (const PlainJson& process : json.at("processes")) record.processes.push_back(text_of(process));
  if (const PlainJson& cause = json.at("cause"); !cause.is_null()) {
    record.cause = RecordedCause{.code = text_of(cause.at("code")),
                                 .message = text_of(cause.at("message")),
                                 .operation = text_of(cause.at("operation")),
                                 .rank = rank_of(cause.at("rank"), no_rank),
                                 .peer = rank_of(cause.at("peer"), no_rank)};
  }
  for (const PlainJson& communicator : json.at("communicators")) {
    record.communicators[count_of(communicator.at("number"))] = {.name = text_of(communicator.at("name")),
                                                                 .ranks = ranks_of(communicator.at("ranks")),
                                                                 .calls = communicator.at("calls")};
  }
  for (const PlainJson& call : json.at("operations")) record.calls.push_back(read_call(call));
  if (json.contains("steps")) {
    for (const PlainJson& step : json.at("steps")) record.steps.push_back(read_step(step, record.communicators));
  }
  for (const PlainJson& wait : json.at("waits")) record.waits.push_back(read_wait(wait));
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

std::string Groups::add(const std::string& text, const std::string& from) {
  const std::string source = printable(from);
  try {
    const PlainJson json = PlainJson::parse(text);
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
    return fmt::format("{} is no record that can be read: {}", source, printable(error.what()));
  }
}

std::vector<Group> Groups::sorted() && {
  std::vector<Group> sorted;
  for (auto& [id, group] : groups_) sorted.push_back(std::move(group));
  std::ranges::sort(sorted, {}, [](const Group& group) { return group.records.begin()->second.date; });
  return sorted;
}

Result<std::vector<Group>> read_folder(const std::string& folder, std::vector<std::string>& unreadable) {
  std::error_code error, of_entry;  // an entry that leads nowhere is none
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".json" && entry.is_regular_file(of_entry)) files.insert(entry.path().string());
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
