#include "src/store/wire.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/bytes.hpp"
#include "src/base/failure_code.hpp"
#include "src/store/keys.hpp"

namespace hocket::store::wire {
namespace {

Status malformed(std::string_view what) {
  return {Code::protocol_error, fmt::format("malformed bytes: {}", what)};
}

bool known(std::uint8_t operation) {
  return operation >= static_cast<std::uint8_t>(Operation::set) &&
         operation <= static_cast<std::uint8_t>(Operation::allgather);
}

bool within_bounds(std::string_view prefix, const Meeting& meeting) {
  const std::size_t key_bytes = prefix.size() + std::to_string(meeting.member).size();
  const bool outcome_fits = !meeting.outcome.empty() && meeting.outcome.size() <= store_key_bytes_max;
  return meeting.member < meeting.members && meeting.members <= INT32_MAX && key_bytes <= store_key_bytes_max &&
         outcome_fits && meeting.complete.size() <= store_key_bytes_max &&
         meeting.wanted.size() <= wanted_max * sizeof(std::uint32_t);
}

bool within_bounds(const Bequest& bequest) {
  return bequest.key.size() <= store_key_bytes_max && bequest.value.size() <= store_key_bytes_max;
}

// Whether the fields of a request obey the bounds of keys and values.
bool within_bounds(const Request& request) {
  const bool may_be_empty = request.operation == Operation::list;
  if (request.operation == Operation::cancel) return request.key.empty();
  if (request.operation == Operation::allgather && !within_bounds(request.key, request.meeting)) return false;
  if (request.key.size() > store_key_bytes_max || (request.key.empty() && !may_be_empty)) return false;
  if (!within_bounds(request.bequest)) return false;
  const std::size_t value_max = may_be_empty ? store_key_bytes_max : store_value_bytes_max;
  return request.value.size() <= value_max && request.expected.value_or("").size() <= store_value_bytes_max;
}

void append_short(std::string& body, std::string_view text) {
  append(body, static_cast<std::uint16_t>(text.size()));
  body += text;
}

void append_meeting(std::string& body, const Meeting& meeting) {
  append(body, meeting.members);
  append(body, meeting.member);
  append_short(body, meeting.outcome);
  append_short(body, meeting.complete);
  append(body, static_cast<std::uint32_t>(meeting.wanted.size() / sizeof(std::uint32_t)));
  body += meeting.wanted;
}

Meeting take_meeting(ByteReader& reader) {
  Meeting meeting;
  meeting.members = reader.take<std::uint32_t>();
  meeting.member = reader.take<std::uint32_t>();
  meeting.outcome = reader.text(reader.take<std::uint16_t>());
  meeting.complete = reader.text(reader.take<std::uint16_t>());
  meeting.wanted = reader.text(reader.take<std::uint32_t>() * sizeof(std::uint32_t));
  return meeting;
}

}  // namespace

std::string_view name_of(Operation operation) {
  switch (operation) {
    case Operation::set: return "set";
    case Operation::get: return "get";
    case Operation::peek: return "peek";
    case Operation::add: return "add";
    case Operation::compare_and_set: return "compare_and_set";
    case Operation::remove: return "remove";
    case Operation::list: return "list";
    case Operation::cancel: return "cancel";
    case Operation::claim: return "claim";
    case Operation::allgather: return "allgather";
  }
  return "unknown operation";
}

std::string challenge_context() {
  return fmt::format("store {}", version);
}

std::string encode_greeting(std::string_view magic, const Greeting& greeting) {
  std::string bytes(magic);
  append(bytes, greeting.version);
  append(bytes, greeting.word);
  append(bytes, static_cast<std::uint32_t>(greeting.text.size()));
  bytes += greeting.text;
  return bytes;
}

std::string encode_request(const Request& request) {
  std::string body;
  append(body, std::uint32_t{0});  // the length, filled in below
  append(body, request.id);
  append(body, static_cast<std::uint8_t>(request.operation));
  append(body, static_cast<std::uint16_t>(request.key.size()));
  body += request.key;
  if (request.operation == Operation::add) append(body, request.delta);
  if (request.operation == Operation::allgather) append_meeting(body, request.meeting);
  if (request.operation == Operation::compare_and_set || request.operation == Operation::claim) {
    const std::string_view expected = request.expected.value_or("");
    append(body, static_cast<std::uint8_t>(request.expected.has_value()));
    append(body, static_cast<std::uint32_t>(expected.size()));
    body += expected;
  }
  if (request.operation == Operation::claim) {
    append_short(body, request.bequest.key);
    append_short(body, request.bequest.value);
  }
  body += request.value;
  std::string length;
  append(length, static_cast<std::uint32_t>(body.size() - frame_head_bytes));
  std::copy(length.begin(), length.end(), body.begin());
  return body;
}

std::string encode_response_head(std::uint64_t id, Code code, std::size_t payload_bytes) {
  std::string head;
  append(head, static_cast<std::uint32_t>(sizeof(id) + 1 + payload_bytes));
  append(head, id);
  append(head, static_cast<std::uint8_t>(code));
  return head;
}

std::string encode_sum(std::int64_t sum) {
  std::string payload;
  append(payload, sum);
  return payload;
}

std::string encode_wanted(const std::vector<Rank>& members) {
  std::string wanted;
  for (const Rank member : members) append(wanted, static_cast<std::uint32_t>(member));
  return wanted;
}

std::string encode_gathered(const Allgathered& gathered) {
  std::string payload;
  append(payload, static_cast<std::uint32_t>(gathered.outcome.size()));
  payload += gathered.outcome;
  for (const auto& value : gathered.values) {
    append(payload, static_cast<std::uint8_t>(value.has_value()));
    append(payload, static_cast<std::uint32_t>(value ? value->size() : 0));
    if (value) payload += *value;
  }
  return payload;
}

std::string encode_page(const std::vector<std::string>& keys, bool more) {
  std::string payload;
  append(payload, static_cast<std::uint8_t>(more));
  for (const std::string& key : keys) {
    append(payload, static_cast<std::uint16_t>(key.size()));
    payload += key;
  }
  return payload;
}

Result<std::optional<Greeting>> parse_greeting(std::string_view bytes, std::string_view magic) {
  const std::size_t seen = std::min(bytes.size(), magic.size());
  if (bytes.substr(0, seen) != magic.substr(0, seen)) {
    return Status(Code::protocol_error, fmt::format("its first bytes {} are not those of Hocket's store protocol",
                                                    in_quotes(bytes.substr(0, 16))));
  }
  if (bytes.size() < greeting_bytes) return std::optional<Greeting>();
  ByteReader reader(bytes.substr(magic.size()));
  Greeting greeting;
  greeting.version = reader.take<std::uint16_t>();
  greeting.word = reader.take<std::uint16_t>();
  const auto text_bytes = reader.take<std::uint32_t>();
  if (text_bytes > greeting_text_bytes_max) return malformed("a greeting that is too long");
  greeting.text = reader.text(text_bytes);
  return reader.ok() ? std::optional<Greeting>(greeting) : std::nullopt;
}

Result<std::optional<std::string_view>> parse_frame(std::string_view bytes, std::size_t bytes_max) {
  ByteReader reader(bytes);
  const auto length = reader.take<std::uint32_t>();
  if (!reader.ok()) return std::optional<std::string_view>();
  if (length == 0 || length > bytes_max) {
    return Status(Code::protocol_error,
                  fmt::format("a frame of {} bytes, where 1 to {} are allowed", length, bytes_max));
  }
  const std::string_view body = reader.text(length);
  return reader.ok() ? std::optional<std::string_view>(body) : std::nullopt;
}

Result<Request> parse_request(std::string_view body) {
  ByteReader reader(body);
  Request request;
  request.id = reader.take<std::uint64_t>();
  const auto operation = reader.take<std::uint8_t>();
  request.key = reader.text(reader.take<std::uint16_t>());
  if (!reader.ok()) return malformed("a request that is cut short");
  if (!known(operation)) return malformed(fmt::format("a request with the unknown operation {}", operation));
  request.operation = static_cast<Operation>(operation);
  switch (request.operation) {
    case Operation::allgather:
      request.meeting = take_meeting(reader);
      request.value = reader.rest();
      break;
    case Operation::add: request.delta = reader.take<std::int64_t>(); break;
    case Operation::compare_and_set:
    case Operation::claim: {
      const auto has_expected = reader.take<std::uint8_t>();
      const std::string_view expected = reader.text(reader.take<std::uint32_t>());
      if (has_expected > 1 || (has_expected == 0 && !expected.empty())) return malformed("a wrong compare_and_set");
      if (has_expected == 1) request.expected = expected;
      if (request.operation == Operation::claim) {
        request.bequest.key = reader.text(reader.take<std::uint16_t>());
        request.bequest.value = reader.text(reader.take<std::uint16_t>());
      }
      request.value = reader.rest();
      break;
    }
    case Operation::set:
    case Operation::list: request.value = reader.rest(); break;
    default: break;
  }
  if (!reader.whole()) return malformed(fmt::format("a {} of a wrong length", name_of(request.operation)));
  if (!within_bounds(request)) return malformed(fmt::format("a {} out of bounds", name_of(request.operation)));
  return request;
}

Result<Response> parse_response(std::string_view body) {
  ByteReader reader(body);
  Response response;
  response.id = reader.take<std::uint64_t>();
  const auto code = reader.take<std::uint8_t>();
  if (!reader.ok()) return malformed("a response that is cut short");
  if (code != HOCKET_OK && !is_failure(code)) return malformed("a response with an unknown code");
  response.code = static_cast<Code>(code);
  response.payload = reader.rest();
  return response;
}

std::vector<Rank> parse_wanted(std::string_view wanted) {
  std::vector<Rank> members;
  for (ByteReader reader(wanted); reader.ok() && !reader.whole();) {
    members.push_back(static_cast<Rank>(reader.take<std::uint32_t>()));
  }
  return members;
}

Result<Allgathered> parse_gathered(std::string_view payload, std::size_t wanted) {
  ByteReader reader(payload);
  Allgathered gathered;
  gathered.outcome = reader.text(reader.take<std::uint32_t>());
  for (std::size_t i = 0; i < wanted && reader.ok(); ++i) {
    const auto present = reader.take<std::uint8_t>();
    const std::string_view value = reader.text(reader.take<std::uint32_t>());
    if (present > 1 || (present == 0 && !value.empty())) return malformed("a wrong value of an allgather");
    gathered.values.push_back(present == 1 ? std::optional<std::string>(value) : std::nullopt);
  }
  if (!reader.whole()) return malformed("values of an allgather of a wrong length");
  return gathered;
}

Result<std::int64_t> parse_sum(std::string_view payload) {
  ByteReader reader(payload);
  const auto sum = reader.take<std::int64_t>();
  if (!reader.whole()) return malformed("a sum of a wrong length");
  return sum;
}

Result<bool> parse_page(std::string_view payload, std::vector<std::string>& keys) {
  ByteReader reader(payload);
  const auto more = reader.take<std::uint8_t>();
  while (reader.ok() && !reader.whole()) {
    const std::string_view key = reader.text(reader.take<std::uint16_t>());
    if (reader.ok()) keys.emplace_back(key);
  }
  if (!reader.ok() || more > 1) return malformed("a list that is cut short");
  return more == 1;
}

}  // namespace hocket::store::wire
