#include "src/exec/opening_operation.hpp"

#include <fmt/format.h>

#include <utility>

namespace hocket {

Status OpeningOperation::start(const Tag&, Peers& peers) {
  peers_ = &peers;
  auto begun = begin_(deadline());
  if (!begun.ok()) return begun.status();
  opening_ = std::move(*begun);
  return {};
}

bool OpeningOperation::advance(Counters&) {
  if (complete()) return false;
  auto window = opening_->advance();
  if (window.ok() && *window == nullptr) return false;
  const bool is_for_end = window.ok() || opening_->is_refused();
  opening_.reset();  // it has nothing more to say, also where memory runs out below
  const Status ended = is_for_end ? end_(std::move(window)) : window.status();
  if (!ended.ok()) fail(ended);
  return true;
}

void OpeningOperation::tell_waiting(Rank missing, Rank witness) {
  if (complete()) return;
  Link* const link = peers_->made_link(opening_->missing().rank);
  if (link != nullptr) link->tell_waiting({.tag = tag(), .missing = missing, .witness = witness});
}

Operation::Missing OpeningOperation::missing() const {
  if (complete()) return {};
  const Rank rank = opening_->missing().rank;
  return {.peers = {rank}, .text = fmt::format("waiting for rank {} to open a window", rank)};
}

}  // namespace hocket
