#include "src/exec/direct/packed_blocks.hpp"

#include <fmt/format.h>

namespace hocket {

void fail_for_sizes(DirectRun& run, const BlockExchange::Taken& block, BlockExchange::Size given) {
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

}  // namespace hocket
