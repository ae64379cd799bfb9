#include "src/base/caught.hpp"

#include <fmt/format.h>

#include <exception>
#include <new>
#include <utility>

namespace hocket {

const Caught caught;

Caught::Caught() : Caught(no_rank, "", "") {}

Caught::Caught(Rank rank)
    : Caught(rank, fmt::format(" while rank {} progressed", rank), fmt::format(" on rank {}", rank)) {}

Caught::Caught(Rank rank, std::string_view while_what, std::string_view where)
    : out_of_memory_(
          Cause{.code = Code::out_of_resources, .message = fmt::format("memory ran out{}", while_what), .rank = rank}),
      defect_(Cause{.code = Code::internal,
                    .message = fmt::format("a defect of Hocket{}, please report it", where),
                    .rank = rank}) {}

Status Caught::status() const noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return out_of_memory_;
  } catch (const std::exception& error) {
    try {
      Cause cause = defect_.cause();
      cause.message += fmt::format(": {}", error.what());
      return Status(std::move(cause));
    } catch (...) {
      return defect_;
    }
  } catch (...) {
    return defect_;
  }
}

}  // namespace hocket
