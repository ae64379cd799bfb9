#include "src/comm/standby_mail.hpp"

namespace hocket::comm {

void StandbyMail::begin(const Doing& doing, const Ranks& gone) {
  doing_ = doing;
  ++call_;
  auto notes = std::exchange(kept_notes_, {});
  auto votes = std::exchange(kept_votes_, {});
  auto news = std::exchange(news_, {});
  const auto take_again = [&](News& one) {
    if ((one.note || one.word) && !gone.contains(one.from)) take(std::move(one));
  };
  for (News& one : notes) take_again(one);
  for (auto& [of, one] : votes) take_again(one);
  for (News& one : news) take_again(one);
}

void StandbyMail::take(News news) {
  if (news.word) {
    take_word(std::move(news));
  } else if (news.note && !doing_.shrinks) {
    kept_notes_.push_back(std::move(news));
  } else {
    news_.push_back(std::move(news));
  }
}

void StandbyMail::take_word(News news) {
  const Word& word = *news.word;
  const Rank from = news.from;
  const bool is_elsewhere = word.kind == Word::Kind::elsewhere;
  const bool of_this = !doing_.shrinks && word.group == doing_.group && word.number == doing_.number;
  if (is_elsewhere ? word.call == call_ : of_this) return news_.push_back(std::move(news));
  if (is_elsewhere || answer_from_memory(from, word)) return;
  if (word.kind != Word::Kind::vote && word.kind != Word::Kind::ask) return;  // said again when this rank votes
  answers_.emplace_back(from, Word{.kind = Word::Kind::elsewhere,
                                   .group = doing_.group,
                                   .number = doing_.number,
                                   .call = word.call,
                                   .shrinks = doing_.shrinks,
                                   .generation = doing_.generation});
  if (word.kind == Word::Kind::vote) kept_votes_.insert_or_assign({from, word.group}, std::move(news));
}

// Where this rank holds the outcome that the other one still looks for.
bool StandbyMail::answer_from_memory(Rank from, const Word& word) {
  const auto known = outcomes_.find(word.group);
  if (known == outcomes_.end() || known->second.number != word.number) return false;
  const auto answer = [&](Word::Kind kind) {
    answers_.emplace_back(from, Word{.kind = kind,
                                     .group = word.group,
                                     .number = word.number,
                                     .dead = known->second.outcome.dead,
                                     .is_final = true,
                                     .outcome = known->second.outcome});
  };
  switch (word.kind) {
    case Word::Kind::vote: answer(word.is_final ? Word::Kind::release : Word::Kind::commit); break;
    case Word::Kind::ask: answer(Word::Kind::commit); break;
    case Word::Kind::commit: answer(Word::Kind::committed); break;
    case Word::Kind::committed: answer(Word::Kind::release); break;
    default: break;
  }
  return true;
}

}  // namespace hocket::comm
