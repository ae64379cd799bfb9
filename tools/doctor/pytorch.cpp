#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "src/base/bytes.hpp"
#include "tools/doctor/export.hpp"

namespace hocket::doctor {
namespace {

using Json = nlohmann::ordered_json;

// ---- pickle, version 2: as much of it as JSON needs -----------------------------------------------------------------

void put_little_endian(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>((value >> (8 * i)) & 0xff);
}

void pickle(std::string& out, const Json& value) {
  if (value.is_null()) {
    out += 'N';
  } else if (value.is_boolean()) {
    out += value.get<bool>() ? '\x88' : '\x89';
  } else if (value.is_number_float()) {
    const auto bits = std::bit_cast<std::uint64_t>(value.get<double>());
    out += 'G';
    for (int i = 7; i >= 0; --i) out += static_cast<char>((bits >> (8 * i)) & 0xff);
  } else if (value.is_number()) {
    out += "\x8a\x08";  // a whole number of 8 bytes
    put_little_endian(out, static_cast<std::uint64_t>(value.get<std::int64_t>()), 8);
  } else if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    out += 'X';
    put_little_endian(out, text.size(), 4);
    out += text;
  } else if (value.is_array()) {
    out += "](";
    for (const Json& element : value) pickle(out, element);
    out += 'e';
  } else {
    out += "}(";
    for (const auto& [key, element] : value.items()) {
      pickle(out, Json(key));
      pickle(out, element);
    }
    out += 'u';
  }
}

// ---- the dump -------------------------------------------------------------------------------------------------------

// What its analysis calls a call. It refuses dumps with names that it does not know. A barrier is an allreduce there,
// as PyTorch makes it, and a scan a reduce. Blocks of different sizes are in order for it in an all_to_all alone.
std::string name_there(const Call& call, Rank rank, const Communicator& communicator) {
  static const std::map<std::string, std::string> names{{"allreduce", "all_reduce"},
                                                        {"barrier", "all_reduce"},
                                                        {"allgather", "_all_gather_base"},
                                                        {"reduce_scatter", "_reduce_scatter_base"},
                                                        {"scan", "reduce"},
                                                        {"exscan", "reduce"},
                                                        {"alltoall", "all_to_all"},
                                                        {"alltoall_v", "all_to_all"},
                                                        {"allgather_v", "all_to_all"},
                                                        {"reduce_scatter_v", "all_to_all"},
                                                        {"gather_v", "all_to_all"},
                                                        {"scatter_v", "all_to_all"}};
  const auto place = [&](Rank one) {  // it counts a communicator's ranks in their order among all
    return communicator.ranks.empty() ? one
                                      : std::ranges::count_if(communicator.ranks, [&](Rank r) { return r < one; });
  };
  if (call.kind == "send") return fmt::format("nccl:send {}->{}", place(rank), place(call.peer));
  if (call.kind == "receive") return fmt::format("nccl:recv {}<-{}", place(rank), place(call.peer));
  const auto found = names.find(call.collective);
  return "nccl:" + (found == names.end() ? call.collective : found->second);
}

std::string type_there(const std::string& type) {
  static const std::map<std::string, std::string> names{
      {"float32", "Float"}, {"float64", "Double"}, {"float16", "Half"}, {"bfloat16", "BFloat16"}, {"int32", "Int"},
      {"int64", "Long"},    {"int8", "Char"},      {"uint8", "Byte"},   {"int16", "Short"}};
  const auto found = names.find(type);
  return found == names.end() ? type : found->second;
}

Json entry_of(const Record& record, const Call& call, std::int64_t id) {
  const std::int64_t to_date = record.date - record.steady;
  const Communicator& communicator = record.communicators.at(call.communicator);
  const auto ranks =
      communicator.ranks.empty() ? std::int64_t{record.size} : static_cast<std::int64_t>(communicator.ranks.size());
  const auto count = static_cast<std::int64_t>(call.count);
  const bool gathers = call.collective == "allgather", scatters = call.collective == "reduce_scatter";
  Json entry{{"record_id", id},
             {"pg_id", call.communicator},
             {"process_group", {std::to_string(call.communicator), communicator.name}},
             {"collective_seq_id", call.is_message() ? 0 : static_cast<std::int64_t>(call.number)},
             {"p2p_seq_id", call.is_message() ? static_cast<std::int64_t>(call.number) : 0},
             {"op_id", id},
             {"profiling_name", name_there(call, record.rank, communicator)},
             {"time_created_ns", call.began + to_date},
             {"input_sizes", {{scatters ? count * ranks : count}}},
             {"input_dtypes", {type_there(call.type)}},
             {"output_sizes", {{gathers ? count * ranks : count}}},
             {"output_dtypes", {type_there(call.type)}},
             {"state", call.ended ? "completed" : "started"},
             {"time_discovered_started_ns", call.began + to_date}};
  entry["time_discovered_completed_ns"] = call.ended ? Json(*call.ended + to_date) : Json(nullptr);
  entry["retired"] = call.ended.has_value();
  entry["timeout_ms"] = 0;
  entry["is_p2p"] = call.is_message();
  entry["frames"] = Json::array();
  return entry;
}

}  // namespace

std::string pytorch_dump(const Group& group, const Record& record) {
  Json dump{{"version", "2.10"},
            {"comm_lib_version", "hocket"},
            {"pg_config", Json::object()},
            {"pg_status", Json::object()},
            {"entries", Json::array()}};
  for (const auto& [number, communicator] : record.communicators) {
    std::vector<Rank> ranks = communicator.ranks;
    if (ranks.empty()) {
      ranks.resize(static_cast<std::size_t>(group.size));
      std::iota(ranks.begin(), ranks.end(), 0);
    }
    dump["pg_config"][std::to_string(number)] = {{"name", std::to_string(number)},
                                                 {"desc", communicator.name},
                                                 {"ranks", fmt::format("[{}]", fmt::join(ranks, ", "))}};
    dump["pg_status"][std::to_string(number)] = {{"last_enqueued_collective", communicator.calls},
                                                 {"last_started_collective", communicator.calls},
                                                 {"last_completed_collective", communicator.calls}};
  }
  std::int64_t id = 0;
  for (const Call& call : record.calls) {
    // Who was in a communicator that is gone is not known, and the analysis must know that.
    if (call.kind != "split" && record.communicators.contains(call.communicator))
      dump["entries"].push_back(entry_of(record, call, ++id));
  }
  std::string text = "\x80\x02";
  pickle(text, dump);
  return text + '.';
}

}  // namespace hocket::doctor
