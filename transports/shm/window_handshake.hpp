// WindowHandshake: how a window opens. Its memory is one file, which the first member makes and which is handed round
// the ring of members. Each commits its own lines. Then a word goes round the ring, which each member passes on when
// its own part is there. When the first member hears it again all are: it says so on its board, where everyone sees it,
// and wakes them. A member that cannot take part says why to its neighbours, who pass it on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/spi/status.hpp"
#include "src/spi/window_opening.hpp"
#include "transports/shm/window_group.hpp"

namespace hocket::shm {

class WindowHandshake {
 public:
  explicit WindowHandshake(WindowGroup& group);

  // When this member's neighbours are connected.
  Status begin();
  // Goes on with what has come.
  Status advance();
  bool opened() const { return opened_; }

  // Whether the window cannot open any more when this member ends now.
  bool needs(std::size_t member) const;
  // Why a member cannot take part; ok: none has said so.
  const Status& refusal() const { return refusal_; }
  // Tells the members that there is no window. Returns why as they see it.
  Status give_up(const Status& why) const;
  using Missing = WindowOpening::Missing;
  Missing missing() const;

  // What other members say. False: it makes no sense.
  bool take(std::size_t member, Packet& packet);

 private:
  // How far a member is, as its board says.
  enum Progress : std::uint64_t { nothing, part_is_there, word_is_passed_on, all_are_there };

  Status make_memory();
  Status share(const UniqueFd& fd);
  void pass_on();
  void show(Progress progress) const;
  std::uint64_t progress_of(std::size_t member) const;
  std::size_t holder() const;
  bool take_opening(std::size_t member, const Packet& packet);
  void refuse_other_list(Rank from);
  bool take_segment(std::size_t member, Packet& packet);
  bool take_word(std::size_t member);
  bool take_refusal(const Packet& packet);

  WindowGroup& group_;
  std::vector<bool> began_;    // by member
  std::uint64_t fingerprint_;  // of the list of members
  UniqueFd memory_;            // that came, until it is mapped
  bool has_no_room_ = false;   // for that descriptor
  bool came_ = false;          // the word, from the previous member
  bool passed_on_ = false;
  bool opened_ = false;
  Status refusal_;
  PlainMemoryOwner plain_memory_;
};

}  // namespace hocket::shm
