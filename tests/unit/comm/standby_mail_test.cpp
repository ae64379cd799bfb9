#include "src/comm/standby_mail.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace hocket::comm {
namespace {

using Kind = Word::Kind;

constexpr Doing agreeing{.group = 7, .number = 2};
constexpr Doing shrinking{.shrinks = true, .group = 7};

News note(Rank from, Note::Kind kind) {
  return {.from = from, .note = Note{.kind = kind}};
}
News word(Rank from, Kind kind, std::uint64_t number = 2, std::uint64_t group = 7) {
  return {.from = from, .word = Word{.kind = kind, .group = group, .number = number, .call = 55}};
}

TEST(StandbyMail, GivesWhatIsSaidOfWhatTheRankDoes) {
  StandbyMail mail;
  mail.begin(agreeing, {});
  mail.take(word(1, Kind::vote));
  mail.take({.from = 2, .ended = true});
  const auto news = mail.take_news();
  ASSERT_EQ(news.size(), 2U);
  EXPECT_EQ(news[0].word->kind, Kind::vote);
  EXPECT_TRUE(news[1].ended);
  EXPECT_TRUE(mail.take_answers().empty());
}

TEST(StandbyMail, KeepsNotesForAShrinkThatComesLaterInTheirOrder) {
  StandbyMail mail;
  mail.begin(agreeing, {});
  mail.take(note(1, Note::Kind::come));
  mail.take(note(3, Note::Kind::come));
  mail.take(note(1, Note::Kind::leave));
  EXPECT_FALSE(mail.has_news());
  mail.begin(shrinking, {3});
  const auto news = mail.take_news();
  ASSERT_EQ(news.size(), 2U) << "but none of rank 3, which is gone";
  EXPECT_EQ(news[0].note->kind, Note::Kind::come);
  EXPECT_EQ(news[1].note->kind, Note::Kind::leave);
}

// One that has finished a shrink may have been told already of the next one.
TEST(StandbyMail, GivesANoteThatCameTooEarlyToTheNextShrink) {
  StandbyMail mail;
  mail.begin(shrinking, {});
  mail.take(note(3, Note::Kind::come));
  for (News& early : mail.take_news()) mail.keep(std::move(early));
  mail.take(note(3, Note::Kind::leave));
  mail.begin(shrinking, {});
  const auto news = mail.take_news();
  ASSERT_EQ(news.size(), 2U);
  EXPECT_EQ(news[0].note->kind, Note::Kind::come);
  EXPECT_EQ(news[1].note->kind, Note::Kind::leave);
}

TEST(StandbyMail, KeepsTheLatestVoteForAnAgreementThatComesLaterAndSaysWhereItsRankIs) {
  StandbyMail mail;
  mail.begin(shrinking, {});
  mail.take(word(1, Kind::vote));
  mail.take({.from = 1, .word = Word{.kind = Kind::vote, .group = 7, .number = 2, .flag = 9}});
  const auto answers = mail.take_answers();
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0].second.kind, Kind::elsewhere);
  EXPECT_EQ(answers[0].second.call, 55U);
  EXPECT_TRUE(answers[0].second.shrinks);
  mail.begin(agreeing, {});
  const auto news = mail.take_news();
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].word->flag, 9U);
}

TEST(StandbyMail, AnswersForAnAgreementWhoseOutcomeItRemembers) {
  StandbyMail mail;
  mail.begin({.group = 7, .number = 3}, {});
  mail.remember(7, 2, {.flag = 4, .dead = {6}});
  const std::vector<std::pair<Kind, Kind>> answers_to = {{Kind::vote, Kind::commit},
                                                         {Kind::ask, Kind::commit},
                                                         {Kind::commit, Kind::committed},
                                                         {Kind::committed, Kind::release}};
  for (const auto& [said, answered] : answers_to) {
    mail.take(word(1, said));
    const auto answers = mail.take_answers();
    ASSERT_EQ(answers.size(), 1U) << static_cast<int>(said);
    EXPECT_EQ(answers[0].second.kind, answered);
    EXPECT_EQ(answers[0].second.outcome, (Outcome{.flag = 4, .dead = {6}}));
    EXPECT_EQ(answers[0].second.number, 2U);
  }
  News holds_it = word(1, Kind::vote);
  holds_it.word->is_final = true;
  mail.take(std::move(holds_it));
  EXPECT_EQ(mail.take_answers().at(0).second.kind, Kind::release);
  mail.take(word(1, Kind::release));
  EXPECT_TRUE(mail.take_answers().empty());
  EXPECT_FALSE(mail.has_news());
}

TEST(StandbyMail, HearsOnlyAnswersToTheCallThatIsUnderWay) {
  StandbyMail mail;
  mail.begin(agreeing, {});
  const std::uint64_t earlier = mail.call();
  mail.begin(agreeing, {});
  mail.take({.from = 1, .word = Word{.kind = Kind::elsewhere, .call = earlier}});
  EXPECT_FALSE(mail.has_news());
  mail.take({.from = 1, .word = Word{.kind = Kind::elsewhere, .call = mail.call()}});
  EXPECT_TRUE(mail.has_news());
  EXPECT_TRUE(mail.take_answers().empty()) << "nobody answers an answer";
}

}  // namespace
}  // namespace hocket::comm
