#include "src/base/mismatch.hpp"

#include <fmt/format.h>

namespace hocket {
namespace {

// What differs between two calls beyond what describe() shows.
std::string difference(const MessageIdentity& got, const MessageIdentity& expected) {
  if (describe(got.tag.call) != describe(expected.tag.call)) return "";
  if (got.tag.communicator != expected.tag.communicator) return "; the calls are of different communicators";
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

Status mismatch(Rank rank, Rank peer, const MessageIdentity& got, const MessageIdentity& expected) {
  return Status(Cause{.code = Code::mismatch,
                      .message = fmt::format("rank {} called {} while rank {} called {}{}: all ranks must make the "
                                             "same calls in the same order",
                                             peer, describe(got.tag.call), rank, describe(expected.tag.call),
                                             difference(got, expected)),
                      .rank = rank,
                      .peer = peer,
                      .operation = std::string(name_of(expected.tag.call.collective)),
                      .sequence = expected.tag.sequence});
}

}  // namespace hocket
