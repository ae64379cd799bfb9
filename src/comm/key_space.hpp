// What rank 0 tells all other ranks through their launcher, before any of them can reach another.
//
// Launchers of MPI offer a space of keys and values (PMI, PMIx) to the processes that they start, and to nobody else:
// it needs no address, and strangers do not see it.
#pragma once

#include <stop_token>
#include <string>

#include "src/spi/status.hpp"
#include "src/spi/types.hpp"

namespace hocket::comm {

enum class KeySpace {
  none,
  pmi,   // version 1, spoken over the descriptor that the launcher has left
  pmix,  // by libpmix, if this build and this host have it
};

// Text in a space is at most so long, and holds letters, digits and commas.
inline constexpr std::size_t key_space_text_max = 1000;

// What the launcher has left for the process that it has started as that rank; `pmix` before `pmi`. The same on all
// ranks of a launch.
KeySpace key_space_of(Rank rank, Rank size);

// What rank 0 says, on every rank. All ranks of the launch must call it, and each must do so once in its life: the
// launcher's barrier counts every process. Errors: timeout where not all have called it by the deadline; aborted when
// `stop` is requested; store_unreachable and protocol_error, with what the launcher said; unsupported where there is
// no libpmix.
Result<std::string> tell_all(KeySpace space, Rank rank, const std::string& words, Deadline deadline,
                             const std::stop_token& stop);

// The same by one of them.
Result<std::string> tell_all_by_pmi(Rank rank, const std::string& words, Deadline deadline,
                                    const std::stop_token& stop);
Result<std::string> tell_all_by_pmix(Rank rank, const std::string& words, Deadline deadline,
                                     const std::stop_token& stop);
// Whether libpmix can be used here: unsupported says why not.
Status pmix_usable();
// For an error that tells that there is no key space: why there might have been one, or nothing.
std::string why_no_key_space();

// Why they did not all come, for both.
Status others_missing(std::string_view barrier);

}  // namespace hocket::comm
