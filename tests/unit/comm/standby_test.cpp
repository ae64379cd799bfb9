#include "src/comm/standby.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace hocket::comm {
namespace {

constexpr Rank standby_size = 13;

std::vector<std::byte> written(const Note& note) {
  std::vector<std::byte> bytes(note_bytes(standby_size));
  EXPECT_TRUE(write_note(note, standby_size, bytes).ok());
  return bytes;
}

TEST(Note, OfEveryKindTravelsAsBytes) {
  for (int kind = static_cast<int>(Note::Kind::call); kind <= static_cast<int>(Note::Kind::excluded); ++kind) {
    const Note note{.kind = static_cast<Note::Kind>(kind),
                    .group = 0x1234567890abcdef,
                    .ranks = {0, 7, 8, 12},
                    .attempts = {{0, 1}, {2, 3, 12}},
                    .cards = {std::string("\0one", 4), std::string(peer_info_bytes_max, 'x')}};
    EXPECT_EQ(read_note(written(note), standby_size), note) << kind;
  }
}

TEST(Note, OfMoreAttemptsThanItHasRoomForSaysSo) {
  Note note;
  for (Rank rank = 0; rank < standby_size; ++rank) note.attempts.insert({rank});
  const auto read = read_note(written(note), standby_size);
  ASSERT_TRUE(read);
  EXPECT_GT(read->attempts.size(), Note::attempts_max);
}

TEST(Note, WithACardThatIsTooLongIsNotWritten) {
  std::vector<std::byte> bytes(note_bytes(standby_size));
  const Note note{.cards = {std::string(peer_info_bytes_max + 1, 'x'), ""}};
  EXPECT_EQ(write_note(note, standby_size, bytes).code(), Code::internal);
}

TEST(Note, ThatIsDamagedIsNoNote) {
  const auto bytes = written({.kind = Note::Kind::come, .ranks = {3}});
  for (const std::byte kind : {std::byte{0}, std::byte{9}, std::byte{255}}) {
    auto damaged = bytes;
    damaged[0] = kind;
    EXPECT_FALSE(read_note(damaged, standby_size)) << static_cast<int>(kind);
  }
  auto damaged = bytes;
  damaged[2 + sizeof(std::uint64_t) + 5 * 2 + 1] = std::byte{0xff};  // the upper half of a card's length
  EXPECT_FALSE(read_note(damaged, standby_size));
  EXPECT_FALSE(read_note({bytes.data(), 5}, standby_size));
}

TEST(Word, OfEveryKindTravelsAsBytesAndIsNoNote) {
  for (int kind = static_cast<int>(Word::Kind::vote); kind <= static_cast<int>(Word::Kind::given_up); ++kind) {
    const Word word{.kind = static_cast<Word::Kind>(kind),
                    .group = 0x1234567890abcdef,
                    .number = 3,
                    .call = 4,
                    .flag = 0xfedcba0987654321,
                    .dead = {0, 7, 8, 12},
                    .is_final = true,
                    .outcome = {.flag = 5, .dead = {1, 12}},
                    .shrinks = true,
                    .generation = 6};
    std::vector<std::byte> bytes(note_bytes(standby_size));
    write_word(word, standby_size, bytes);
    EXPECT_EQ(read_word(bytes, standby_size), word) << kind;
    EXPECT_FALSE(read_note(bytes, standby_size));
  }
  EXPECT_FALSE(read_word(written({.kind = Note::Kind::come}), standby_size));
}

TEST(Word, ThatIsDamagedIsNoWord) {
  std::vector<std::byte> bytes(note_bytes(standby_size));
  write_word({}, standby_size, bytes);
  for (const std::byte kind : {std::byte{0x40}, std::byte{0x4c}, std::byte{0x01}, std::byte{0xff}}) {
    auto damaged = bytes;
    damaged[0] = kind;
    EXPECT_FALSE(read_word(damaged, standby_size)) << static_cast<int>(kind);
  }
  EXPECT_FALSE(read_word({bytes.data(), 12}, standby_size));
}

Result<std::shared_ptr<Standby>> open_one_of_two(Rank rank) {
  Options options{.rank = rank, .size = 2, .transport = "tcp"};
  options.trust.insecure = true;
  return Standby::open(options, 7);
}

// A process that has a standby of rank 0, and attends to nothing; it ends without a word when the pipe does.
void be_the_other(int says, int hears) {
  const auto standby = open_one_of_two(0);
  if (!standby.ok()) ::_exit(1);
  const std::string card = PeerInfo{.build = BuildIdentity::own(), .standby = (*standby)->endpoints()}.serialise();
  char end = 0;
  if (::write(says, card.data(), card.size()) > 0) (void)!::read(hears, &end, 1);
  ::_exit(0);
}

// The other's kernel has taken the call, which ends otherwise than where nobody listens: no proof of the other's end.
TEST(Standby, AsksAtTheDoorOfAPeerThatItCouldNotReach) {
  int up[2], down[2];
  ASSERT_EQ(::pipe(up), 0);
  ASSERT_EQ(::pipe(down), 0);
  const pid_t other = ::fork();
  if (other == 0) {
    ::close(down[1]);
    be_the_other(up[1], down[0]);
  }
  ::close(down[0]);
  ::close(up[1]);
  std::string card(peer_info_bytes_max, '\0');
  card.resize(static_cast<std::size_t>(std::max<ssize_t>(::read(up[0], card.data(), card.size()), 0)));
  const auto peer = PeerInfo::parse(card);
  const auto standby = open_one_of_two(1);
  ASSERT_TRUE(peer.ok() && standby.ok());
  Standby& own = **standby;
  own.know(std::vector<PeerInfo>{*peer, {.standby = own.endpoints()}});
  own.reach(0);
  (void)own.await(Deadline::after(std::chrono::milliseconds(100)));
  for (const Suspicion any : {Suspicion::none, Suspicion::lost, Suspicion::ended}) {
    EXPECT_FALSE(own.has_gone(0, ProcessIdentity(), any));
  }
  ::close(down[1]);
  EXPECT_EQ(::waitpid(other, nullptr, 0), other);
  const Deadline patience = Deadline::after(std::chrono::seconds(10));
  while (!own.ended().contains(0) && !own.out_of_reach().contains(0) && !patience.passed()) {
    (void)own.await(Deadline::after(std::chrono::milliseconds(10)));
  }
  while (!own.has_gone(0, ProcessIdentity(), Suspicion::none) && !patience.passed()) ::poll(nullptr, 0, 1);
  EXPECT_TRUE(own.has_gone(0, ProcessIdentity(), Suspicion::none));
  ::close(up[0]);
}

// Whoever saw its end may have died, too.
TEST(Standby, AsksAtTheDoorOfAPeerOfWhoseLossItWasTold) {
  auto other = open_one_of_two(0);
  const auto standby = open_one_of_two(1);
  ASSERT_TRUE(other.ok() && standby.ok());
  Standby& own = **standby;
  own.know(std::vector<PeerInfo>{{.standby = (*other)->endpoints()}, {.standby = own.endpoints()}});
  other->reset();
  EXPECT_FALSE(own.has_gone(0, ProcessIdentity(), Suspicion::none));
  EXPECT_TRUE(own.has_gone(0, ProcessIdentity(), Suspicion::lost));
}

// The one before may have changed what the next one does.
TEST(StandbyTurn, AsksWhatIsDoneOnlyWhoHasTheTurn) {
  const auto standby = open_one_of_two(0);
  ASSERT_TRUE(standby.ok()) << standby.status().message();
  int asked = 0;
  const auto what = [&] {
    ++asked;
    return Doing{};
  };
  {
    const auto first = StandbyTurn::take(*standby, what);
    EXPECT_TRUE(first.ok());
    EXPECT_EQ(StandbyTurn::take(*standby, what).status().code(), Code::invalid_argument);
    EXPECT_EQ(asked, 1);
  }
  EXPECT_TRUE(StandbyTurn::take(*standby, what).ok());
  EXPECT_EQ(asked, 2);
}

}  // namespace
}  // namespace hocket::comm
