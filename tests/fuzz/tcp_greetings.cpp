// What peers say over TCP before and beside messages: hellos, headers, causes, and the addresses that they advertise.
#include <algorithm>

#include "tests/fuzz/target.hpp"
#include "transports/tcp/endpoint.hpp"
#include "transports/tcp/wire.hpp"

namespace hocket::fuzz {
namespace {

using namespace tcp;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

template <class Array>
std::string text_of(const Array& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool run_hello(std::string_view input) {
  if (input.size() < hello_bytes) return false;
  const auto hello = parse_hello(bytes_of(input).first<hello_bytes>());
  if (!hello) require_printable(hello.status().message());
  if (hello) require(text_of(encode(*hello)) == input.substr(0, hello_bytes));
  return hello.ok();
}

bool run_header(std::string_view input) {
  if (input.size() < header_bytes) return false;
  const auto header = parse_header(bytes_of(input).first<header_bytes>());
  if (!header) require_printable(header.status().message());
  if (header) require(text_of(encode(*header)) == input.substr(0, header_bytes));
  if (header) require_printable(describe(header->tag.call));
  return header.ok();
}

bool run_cause(std::string_view input) {
  const auto cause = parse_cause(bytes_of(input));
  if (!cause) return false;
  require_printable(cause->operation);
  require_printable(cause->message);
  require(cause->code != Code::ok && cause->code != Code::in_progress);
  return true;
}

bool run_address(std::string_view input) {
  const auto theirs = parse_reachability(input);
  if (!theirs) return false;
  require(encode(*theirs) == input);
  for (const in6_addr& ip : theirs->ips) {
    const Endpoint endpoint{.ip = ip, .port = theirs->port};
    require_printable(endpoint.text());
    require(endpoint_of(socket_address_of(endpoint).get()).has_value());
  }
  return true;
}

bool run(std::string_view input) {
  switch (choose(input, 4)) {
    case 0: return run_hello(input);
    case 1: return run_header(input);
    case 2: return run_cause(input);
    default: return run_address(input);
  }
}

std::vector<std::string> seeds() {
  Tag tag{.communicator = 3, .sequence = 9, .call = {.collective = Collective::broadcast, .root = 2, .count = 1024}};
  Reachability address{.host = 77, .port = 29500, .streams = 2, .ips = {}};
  address.ips.resize(3);
  address.ips[1].s6_addr[10] = address.ips[1].s6_addr[11] = 0xff;
  address.ips[2].s6_addr[0] = 0xfe;
  const auto cause = encode_cause({.code = Code::peer_lost,
                                   .message = "rank 3 is gone",
                                   .rank = 1,
                                   .peer = 3,
                                   .operation = "allreduce",
                                   .sequence = 5,
                                   .elapsed_seconds = 0.5});
  return {chosen(0, text_of(encode(Hello{HelloKind::hello, 4711, 1, 0, {1, 2}}))),
          chosen(0, text_of(encode(Hello{HelloKind::welcome, 4711, 0, 1, {0, 1}}))),
          chosen(1, text_of(encode(Header{FrameKind::message, tag, 4096}))),
          chosen(1, text_of(encode(Header{FrameKind::waiting, tag, 0}))),
          chosen(2, text_of(cause).substr(header_bytes)),
          chosen(3, encode(address))};
}

}  // namespace

const Target tcp_greetings{"tcp_greetings", run, seeds};

}  // namespace hocket::fuzz
