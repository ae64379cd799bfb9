// Choices: which algorithms somebody wants, by collective and size: HOCKET_ALGORITHM, or one table of several
// (tuning.hpp). They name the algorithm only; what else must hold for it to run is select.hpp's.
//
//   ring                                        for every collective that has it
//   allreduce=linear:4K,recursive_doubling:256K,ring;broadcast=chain
//
// Entries are separated by semicolons. After a collective come algorithms, each with the largest number of bytes (of
// the larger buffer) for which it is wanted; sizes rise, and the last algorithm may go without. "auto" is an algorithm,
// too: the library's own choice, as everywhere where nothing is said.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/spi/schedule.hpp"
#include "src/spi/status.hpp"

namespace hocket {

inline constexpr std::size_t any_bytes = SIZE_MAX;
inline constexpr std::string_view automatic_algorithm = "auto";

// Whether `name` is "auto" or that of an algorithm of any collective.
bool known_algorithm(std::string_view name);
// A collective that reduces by an algorithm of this name, but not in rank order; nothing where there is none.
std::optional<Collective> out_of_rank_order(std::string_view name);

class Choices {
 public:
  // not_found: a collective or an algorithm that there is none of. invalid_argument: other mistakes. Both name the
  // part of the text and what there is. Empty text: no choices.
  static Result<Choices> parse(std::string_view text);
  // Takes in one entry more; codes as those of parse().
  Status parse_entry(std::string_view text);

  // Up to which size an algorithm is wanted; null for the library's own choice.
  struct Wanted {
    const Algorithm* algorithm = nullptr;
    std::size_t bytes_max = any_bytes;
  };
  Wanted wanted(Collective collective, std::size_t bytes) const;
  bool empty() const { return entries_.empty() && everywhere_ == automatic_algorithm; }
  // A collective and an algorithm wanted for it that does not take sums in rank order; nothing where all do.
  std::optional<std::pair<Collective, std::string_view>> out_of_rank_order() const;
  // One range of one collective; a null algorithm is the library's own choice. Requires that ranges are added in rising
  // order, and that the collective has it.
  void add(Collective collective, std::size_t bytes_max, const Algorithm* algorithm);
  // What parse() would make the same choices of; equal for equal choices. Entries are separated by `separator`.
  std::string text(std::string_view separator = ";") const;
  // The text; of a long one, the beginning and a digest. At most 100 characters, equal for equal choices.
  std::string summary() const;

 private:
  struct Entry {
    Collective collective;
    std::vector<Wanted> ranges;
  };

  Entry* find(Collective collective);
  Status parse_ranges(Collective collective, std::string_view text);

  std::string_view everywhere_ = automatic_algorithm;  // of the catalog
  std::vector<Entry> entries_;                         // in the order of collectives
};

}  // namespace hocket
