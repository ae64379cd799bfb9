#include "src/base/mismatch.hpp"

#include <fmt/format.h>

namespace hocket {
namespace {

// What differs between two calls beyond what describe() shows.
std::string difference(const MessageIdentity& got, const MessageIdentity& expected) {
  if (got.tag.communicator != expected.tag.communicator) return "";
  if (describe(got.tag.call) != describe(expected.tag.call)) return "";
  if (got.tag.sequence != expected.tag.sequence) {
    return fmt::format("; these are calls number {} and {}", got.tag.sequence, expected.tag.sequence);
  }
  if (got.tag.call.algorithm != expected.tag.call.algorithm) return "; they chose different algorithms";
  if (got.tag.call.root != expected.tag.call.root) {
    return fmt::format("; with roots {} and {}", got.tag.call.root, expected.tag.call.root);
  }
  return fmt::format("; a message has {} bytes where {} were expected", got.bytes, expected.bytes);
}

}  // namespace

Status mismatch(Rank rank, Rank peer, const MessageIdentity& got, const MessageIdentity& expected,
                const TransportListener& names) {
  const Signature mine = as_received(expected.tag.call);  // the rank that finds it out is to receive
  const auto named = [&](const Signature& call, const Tag& tag) {
    if (got.tag.communicator == expected.tag.communicator) return describe(call);
    return describe(call) + " on " + names.describe_communicator(tag.communicator, peer);
  };
  return Status(Cause{.code = Code::mismatch,
                      .message = fmt::format("rank {} called {} while rank {} called {}{}: all ranks must make the "
                                             "same calls in the same order",
                                             peer, named(got.tag.call, got.tag), rank, named(mine, expected.tag),
                                             difference(got, expected)),
                      .rank = rank,
                      .peer = peer,
                      .operation = std::string(name_of(mine.collective)),
                      .sequence = expected.tag.sequence});
}

}  // namespace hocket
