// What clients and servers of the store say: greetings, frames, requests, responses, sums and pages.
#include <optional>

#include "src/store/wire.hpp"
#include "tests/fuzz/target.hpp"

namespace hocket::fuzz {
namespace {

using namespace store::wire;

constexpr std::string_view magics[] = {client_magic, server_magic};

bool run_greeting(std::string_view input, std::string_view magic) {
  const auto greeting = parse_greeting(input, magic);
  if (!greeting) require_printable(greeting.status().message());
  if (!greeting || !*greeting) return false;
  require((*greeting)->size() <= input.size());
  require(encode_greeting(magic, **greeting) == input.substr(0, (*greeting)->size()));
  return true;
}

// Takes frame after frame, as both ends do. What is taken for a request or a response is written as it came.
bool run_frames(std::string_view input, std::size_t bytes_max, bool (*take)(std::string_view frame)) {
  bool taken = false;
  for (;;) {
    const auto body = parse_frame(input, bytes_max);
    if (!body) require_printable(body.status().message());
    if (!body || !*body) return taken;
    const std::string_view frame = input.substr(0, frame_head_bytes + (*body)->size());
    require((*body)->size() <= bytes_max && (*body)->data() + (*body)->size() == frame.data() + frame.size());
    if (!take(frame)) return false;
    taken = true;
    input.remove_prefix(frame.size());
  }
}

bool take_request(std::string_view frame) {
  const auto request = parse_request(frame.substr(frame_head_bytes));
  if (!request) require_printable(request.status().message());
  if (request) require(encode_request(*request) == frame);
  return request.ok();
}

bool take_response(std::string_view frame) {
  const auto response = parse_response(frame.substr(frame_head_bytes));
  if (!response) require_printable(response.status().message());
  if (!response) return false;
  const std::string head = encode_response_head(response->id, response->code, response->payload.size());
  require(head + std::string(response->payload) == frame);
  return true;
}

bool run_payload(std::string_view input) {
  const auto sum = parse_sum(input);
  if (sum) require(encode_sum(*sum) == input);
  std::vector<std::string> keys;
  const auto more = parse_page(input, keys);
  if (more) require(encode_page(keys, *more) == input);
  const auto gathered = parse_gathered(input, 2);
  if (gathered) require(encode_gathered(*gathered) == input);
  return sum.ok() || more.ok() || gathered.ok();
}

bool run(std::string_view input) {
  switch (choose(input, 5)) {
    case 0: return run_greeting(input, magics[0]);
    case 1: return run_greeting(input, magics[1]);
    case 2: return run_frames(input, request_bytes_max, take_request);
    case 3: return run_frames(input, response_bytes_max, take_response);
    default: return run_payload(input);
  }
}

std::vector<std::string> seeds() {
  std::string requests;
  std::vector<std::string> all;
  for (const Request& request :
       {Request{1, Operation::set, "job/1/group", "4711"}, Request{2, Operation::get, "job/1/group"},
        Request{3, Operation::peek, "job/1/failed"}, Request{4, Operation::add, "count", "", std::nullopt, -3},
        Request{5, Operation::compare_and_set, "job/claim/0", "1 joining", std::nullopt},
        Request{6, Operation::compare_and_set, "job/claim/0", "2 joining", "1 joining"},
        Request{7, Operation::remove, "job/1/peer/0"}, Request{8, Operation::list, "job/", "job/1/group"},
        Request{2, Operation::cancel},
        Request{10, Operation::claim, "job/1/place/0", "me", "another", 0, {}, {"job/1/verdict", "it is gone"}},
        Request{9, Operation::allgather, "job/1/card/", "a card", std::nullopt, 0,
                Meeting{3, 1, "job/1/verdict", "complete", std::string_view("\2\0\0\0\0\0\0\0", 8)}}}) {
    requests += encode_request(request);
    all.push_back(chosen(2, encode_request(request)));
  }
  all.push_back(chosen(2, requests));
  all.push_back(chosen(0, encode_greeting(client_magic, {.text = "proof"})));
  all.push_back(chosen(
      1, encode_greeting(server_magic, {.word = static_cast<std::uint16_t>(Verdict::refused), .text = "it is full"})));
  all.push_back(chosen(3, encode_response_head(1, Code::ok, 0) + encode_response_head(2, Code::ok, 4) + "4711" +
                              encode_response_head(3, Code::not_found, 0)));
  all.push_back(chosen(4, encode_sum(-1)));
  all.push_back(chosen(4, encode_page({"job/1/group", "job/1/peer/0"}, true)));
  all.push_back(chosen(4, encode_gathered({.outcome = "complete", .values = {"a card", std::nullopt}})));
  return all;
}

}  // namespace

const Target store_messages{"store_messages", run, seeds};

}  // namespace hocket::fuzz
