#include "src/exec/direct/packed_blocks.hpp"

#include <fmt/format.h>

#include "src/base/copy_small.hpp"

namespace hocket {
namespace {

[[gnu::cold]] void fail_for_sizes(DirectRun& run, const BlockExchange::Taken& block, BlockExchange::Size given) {
  Signature theirs = run.compared.signature(), mine = theirs;
  theirs.count = given;
  mine.count = block.size;
  const Rank rank = run.window().rank_of(block.source), here = run.window().rank_of(run.self);
  run.fail(Status(Cause{
      .code = Code::mismatch,
      .message = fmt::format("rank {} called {} while rank {} called {}", rank, describe(theirs), here, describe(mine)),
      .peer = rank,
      .operation = {}}));
}

}  // namespace

bool take_packed_blocks(DirectRun& run) {
  for (const BlockExchange::Taken& block : run.blocks.taken()) {
    const std::byte* const payload = run.payload_of(block.source);
    const BlockExchange::Size given = run.blocks.size_in(payload);
    if (given != block.size) {
      fail_for_sizes(run, block, given);
      return false;
    }
    copy_small(run.binding.output + block.offset, run.blocks.block_in(payload), block.bytes);
  }
  return true;
}

}  // namespace hocket
