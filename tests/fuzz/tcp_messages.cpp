// Any input makes a stream of frames and of nonsense, and receives that wait for some of them. However the stream is
// cut into pieces, the reader must come to the same end; sanitizers see to the rest.
#include <cstdint>
#include <utility>

#include "tests/fuzz/message_feed.hpp"
#include "tests/fuzz/target.hpp"

namespace hocket::fuzz {
namespace {

using namespace hocket::testing_support;

// Streams are fed byte by byte, too: longer ones keep the fuzzer busy for seconds each and reach no more.
constexpr std::size_t stream_bytes_max = 8192;

// What an input says: one byte for each thing, and one for its size.
struct Plan {
  Bytes stream;
  std::vector<Wanted> wanted;
};

Plan read_plan(std::string_view text) {
  Plan plan;
  const auto input = std::as_bytes(std::span(text.data(), text.size()));
  const auto number = [&](std::size_t at) { return std::to_integer<std::size_t>(input[at]); };
  std::uint32_t sequence = 0;
  for (std::size_t at = 0; at + 1 < input.size() && plan.stream.size() < stream_bytes_max; at += 2) {
    const std::size_t size = number(at + 1);
    switch (number(at) % 16) {
      case 0: append_message(plan.stream, sequence, size * 16); [[fallthrough]];  // and nobody waits
      case 1: ++sequence; break;                                                  // skipped
      case 2: append(plan.stream, encode(tcp::Header{tcp::FrameKind::waiting, tag_of(sequence), 0})); break;
      case 3: append(plan.stream, encode(tcp::Header{.kind = tcp::FrameKind::goodbye})); break;
      case 4: append(plan.stream, tcp::encode_cause({.code = Code::timeout, .message = std::string(size, 'x')})); break;
      case 5:
        append(plan.stream, encode(tcp::Header{tcp::FrameKind::cause, {}, static_cast<std::uint32_t>(size)}));
        break;
      case 6:  // nonsense
        for (; at + 2 < input.size() && plan.stream.size() % 64 != size % 64; ++at) {
          plan.stream.push_back(input[at + 2]);
        }
        break;
      case 7:  // a bit goes wrong on the way
        if (!plan.stream.empty()) plan.stream[plan.stream.size() - 1 - size % plan.stream.size()] ^= std::byte{4};
        break;
      case 8: plan.wanted.push_back({sequence, size}); break;  // what never comes, or not so
      case 9:
      case 10:
        append_message(plan.stream, sequence, size * 16);
        plan.wanted.push_back({sequence++, size * 16});
        break;
      default: {
        const std::size_t element = 1 + size % 11;
        append_message(plan.stream, sequence, size / 11 * element);
        plan.wanted.push_back({sequence++, size / 11 * element, element});
      }
    }
  }
  return plan;
}

bool run(std::string_view input) {
  const Plan plan = read_plan(input);
  std::size_t completed = 0;
  for (const auto& [late, rest] :
       {std::pair(false, Rest::ignored), {true, Rest::ignored}, {false, Rest::foreseen}, {false, Rest::skipped}}) {
    const auto outcome = [&](const auto& piece) {
      return MessageFeed(plan.wanted, late).run(plan.stream, piece, rest);
    };
    const Outcome at_once = outcome([] { return SIZE_MAX; });
    std::uint32_t random = static_cast<std::uint32_t>(input.size());
    const auto some = [&] { return 1 + ((random = random * 1664525 + 1013904223) >> 24) % 80; };
    require(outcome([] { return std::size_t{1}; }) == at_once && outcome(some) == at_once);
    completed += at_once.completed;
  }
  return completed > 0;
}

// Messages, some of them combined, some skipped; then what ends a stream.
std::vector<std::string> seeds() {
  const std::string messages("\x09\x04\x0a\x00\x0b\x2c\x02\x00\x0f\x10\x09\x09", 12);
  return {messages, messages + std::string("\x03\x00", 2), messages + std::string("\x04\x20", 2),
          messages + std::string("\x08\x10\x09\x02", 4), messages + std::string("\x06\x05rubbish", 9)};
}

}  // namespace

const Target tcp_messages{"tcp_messages", run, seeds};

}  // namespace hocket::fuzz
