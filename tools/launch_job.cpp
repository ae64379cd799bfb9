#include "tools/launch_job.hpp"

#include <nlohmann/json.hpp>

namespace hocket::launch {

using nlohmann::json;

// MessagePack, as JSON itself would take nothing but UTF-8.
std::string encode(const Job& job) {
  const json value = {{"first", job.place.first},
                      {"local", job.place.local},
                      {"ranks", job.place.ranks},
                      {"master_address", job.place.master_address},
                      {"master_port", job.place.master_port},
                      {"command", job.command},
                      {"variables", job.variables},
                      {"folder", job.folder},
                      {"binding", job.binding},
                      {"shared_heap", job.shared_heap},
                      {"labelled", job.labelled},
                      {"grace_ms", job.grace.count()}};
  std::string message;
  json::to_msgpack(value, message);
  return message;
}

Result<Job> decode(std::string_view message) {
  try {
    const json value = json::from_msgpack(message);
    Job job;
    value.at("first").get_to(job.place.first);
    value.at("local").get_to(job.place.local);
    value.at("ranks").get_to(job.place.ranks);
    value.at("master_address").get_to(job.place.master_address);
    value.at("master_port").get_to(job.place.master_port);
    value.at("command").get_to(job.command);
    value.at("variables").get_to(job.variables);
    value.at("folder").get_to(job.folder);
    value.at("binding").get_to(job.binding);
    value.at("shared_heap").get_to(job.shared_heap);
    value.at("labelled").get_to(job.labelled);
    job.grace = std::chrono::milliseconds(value.at("grace_ms").get<std::int64_t>());
    return job;
  } catch (const json::exception& error) {
    return Status(Code::protocol_error, error.what());
  }
}

}  // namespace hocket::launch
