// Any input makes a stream of frames and of nonsense, and receives that wait for some of them. However the stream is
// cut into pieces, the reader must come to the same end; sanitizers see to the rest.
#include <cstdint>
#include <cstdlib>

#include "tests/fuzz/message_feed.hpp"

namespace hocket::testing {
namespace {

// What an input says: one byte for each thing, and one for its size.
struct Plan {
  Bytes stream;
  std::vector<Wanted> wanted;
};

Plan read_plan(std::span<const std::uint8_t> input) {
  Plan plan;
  std::uint32_t sequence = 0;
  for (std::size_t at = 0; at + 1 < input.size(); at += 2) {
    const std::size_t size = input[at + 1];
    switch (input[at] % 16) {
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
          plan.stream.push_back(static_cast<std::byte>(input[at + 2]));
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

}  // namespace
}  // namespace hocket::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hocket::testing;
  const Plan plan = read_plan({data, size});
  for (const bool late : {false, true}) {
    const auto outcome = [&](const auto& piece) { return MessageFeed(plan.wanted, late).run(plan.stream, piece); };
    const Outcome at_once = outcome([] { return SIZE_MAX; });
    std::uint32_t random = static_cast<std::uint32_t>(size);
    const auto some = [&] { return 1 + ((random = random * 1664525 + 1013904223) >> 24) % 80; };
    if (outcome([] { return std::size_t{1}; }) != at_once || outcome(some) != at_once) std::abort();
  }
  return 0;
}
