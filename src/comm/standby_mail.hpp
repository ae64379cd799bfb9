// What has come over a standby: for what its rank does there now, for what it does later, or for what it has done.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "src/comm/agreement.hpp"
#include "src/comm/regroup.hpp"

namespace hocket::comm {

struct News {
  Rank from = no_rank;
  std::optional<Note> note = {};  // of shrinking
  std::optional<Word> word = {};  // of agreeing; neither: nothing comes from there any more
  bool ended = false;             // because the peer's process has ended or left, for certain
};

// What a rank does on its standby.
struct Doing {
  bool shrinks = false;          // or agrees
  std::uint32_t generation = 0;  // of the communicator: how many were shrunk before it
  std::uint64_t group = 0;       // likewise its number
  std::uint64_t number = 0;      // of the agreement
};

class StandbyMail {
 public:
  // From now on. Of what has come before, what belongs to this is news, but for that from ranks that are `gone`.
  void begin(const Doing& doing, const Ranks& gone);
  // How often that was called.
  std::uint64_t call() const { return call_; }

  void take(News news);
  // A note that came too early for what this rank has done: it is news when this rank shrinks again.
  void keep(News note) { kept_notes_.push_back(std::move(note)); }
  bool has_news() const { return !news_.empty(); }
  std::vector<News> take_news() { return std::exchange(news_, {}); }
  // What those are told who speak of something else.
  std::vector<std::pair<Rank, Word>> take_answers() { return std::exchange(answers_, {}); }
  // From now on whoever still agrees on that is told.
  void remember(std::uint64_t group, std::uint64_t number, const Outcome& outcome) {
    outcomes_.insert_or_assign(group, Known{number, outcome});
  }

 private:
  struct Known {
    std::uint64_t number;
    Outcome outcome;
  };
  void take_word(News news);
  bool answer_from_memory(Rank from, const Word& word);

  Doing doing_;
  std::uint64_t call_ = 0;
  std::vector<News> news_, kept_notes_;
  std::map<std::pair<Rank, std::uint64_t>, News> kept_votes_;  // the latest of each rank in each group
  std::vector<std::pair<Rank, Word>> answers_;
  std::map<std::uint64_t, Known> outcomes_;  // the latest of each group
};

}  // namespace hocket::comm
