// What travels over a standby, as bytes.
#include <fmt/format.h>

#include <algorithm>

#include "src/base/bytes.hpp"
#include "src/comm/standby.hpp"

namespace hocket::comm {
namespace {

constexpr std::size_t card_room = peer_info_bytes_max;
constexpr std::uint8_t word_bit = 0x40;  // in the first byte, which is the kind

std::size_t bitmap_bytes(Rank size) {
  return (static_cast<std::size_t>(size) + 7) / 8;
}

std::string bitmap_of(const Ranks& ranks, Rank size) {
  std::string bitmap(bitmap_bytes(size), '\0');
  for (const Rank rank : ranks) bitmap[static_cast<std::size_t>(rank) / 8] |= static_cast<char>(1 << (rank % 8));
  return bitmap;
}

Ranks ranks_of(std::string_view bitmap, Rank size) {
  Ranks ranks;
  if (bitmap.size() != bitmap_bytes(size)) return ranks;
  for (Rank rank = 0; rank < size; ++rank) {
    if ((bitmap[static_cast<std::size_t>(rank) / 8] >> (rank % 8) & 1) != 0) ranks.insert(rank);
  }
  return ranks;
}

}  // namespace

std::size_t note_bytes(Rank size) {
  return 2 * sizeof(std::uint8_t) + sizeof(std::uint64_t) + (1 + Note::attempts_max) * bitmap_bytes(size) +
         2 * (sizeof(std::uint16_t) + card_room);
}

Status write_note(const Note& note, Rank size, std::span<std::byte> to) {
  std::ranges::fill(to, std::byte{0});
  ByteWriter writer(to.data());
  writer.put(static_cast<std::uint8_t>(note.kind));
  writer.put(note.group);
  writer.put_text(bitmap_of(note.ranks, size));
  // One more than there is room for says that there are too many to tell.
  writer.put(static_cast<std::uint8_t>(std::min(note.attempts.size(), Note::attempts_max + 1)));
  std::size_t told = 0;
  for (const Ranks& attempt : note.attempts) {
    if (told++ < Note::attempts_max) writer.put_text(bitmap_of(attempt, size));
  }
  for (; told < Note::attempts_max; ++told) writer.put_text(bitmap_of({}, size));
  for (const std::string& card : note.cards) {
    if (card.size() > card_room) return {Code::internal, fmt::format("a card has {} bytes", card.size())};
    writer.put(static_cast<std::uint16_t>(card.size()));
    writer.put_text(card);
  }
  return {};
}

std::optional<Note> read_note(std::span<const std::byte> bytes, Rank size) {
  ByteReader from(bytes);
  Note note;
  const auto kind = from.take<std::uint8_t>();
  note.kind = static_cast<Note::Kind>(kind);
  note.group = from.take<std::uint64_t>();
  note.ranks = ranks_of(from.text(bitmap_bytes(size)), size);
  const auto attempts = from.take<std::uint8_t>();
  for (std::size_t i = 0; i < Note::attempts_max; ++i) {
    const Ranks attempt = ranks_of(from.text(bitmap_bytes(size)), size);
    if (i < attempts) note.attempts.insert(attempt);
  }
  if (attempts > Note::attempts_max) note.attempts.insert(Ranks{});
  for (std::string& card : note.cards) {
    const auto length = from.take<std::uint16_t>();
    if (length > card_room) return std::nullopt;
    card = from.text(length);
  }
  const bool known = kind >= static_cast<int>(Note::Kind::call) && kind <= static_cast<int>(Note::Kind::excluded);
  if (!from.ok() || !known || attempts > Note::attempts_max + 1) return std::nullopt;
  return note;
}

void write_word(const Word& word, Rank size, std::span<std::byte> to) {
  std::ranges::fill(to, std::byte{0});
  ByteWriter writer(to.data());
  writer.put(static_cast<std::uint8_t>(static_cast<std::uint8_t>(word.kind) | word_bit));
  writer.put(word.group);
  writer.put(word.number);
  writer.put(word.call);
  writer.put(word.flag);
  writer.put_text(bitmap_of(word.dead, size));
  writer.put(static_cast<std::uint8_t>(word.is_final));
  writer.put(word.outcome.flag);
  writer.put_text(bitmap_of(word.outcome.dead, size));
  writer.put(static_cast<std::uint8_t>(word.shrinks));
  writer.put(word.generation);
}

std::optional<Word> read_word(std::span<const std::byte> bytes, Rank size) {
  ByteReader from(bytes);
  Word word;
  const auto kind = from.take<std::uint8_t>();
  word.kind = static_cast<Word::Kind>(kind & ~word_bit);
  word.group = from.take<std::uint64_t>();
  word.number = from.take<std::uint64_t>();
  word.call = from.take<std::uint64_t>();
  word.flag = from.take<std::uint64_t>();
  word.dead = ranks_of(from.text(bitmap_bytes(size)), size);
  const auto is_final = from.take<std::uint8_t>();
  word.is_final = is_final == 1;
  word.outcome.flag = from.take<std::uint64_t>();
  word.outcome.dead = ranks_of(from.text(bitmap_bytes(size)), size);
  const auto shrinks = from.take<std::uint8_t>();
  word.shrinks = shrinks == 1;
  word.generation = from.take<std::uint32_t>();
  const bool known = (kind & word_bit) != 0 && word.kind >= Word::Kind::vote && word.kind <= Word::Kind::given_up;
  if (!from.ok() || !known || is_final > 1 || shrinks > 1) return std::nullopt;
  return word;
}

}  // namespace hocket::comm
