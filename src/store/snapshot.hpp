// A copy of what the store's server holds, in a file (src/store/record.hpp), for the next server.
#pragma once

#include <functional>
#include <string>

#include "src/store/dictionary.hpp"

namespace hocket::store {

// Replaces the file as a whole, or leaves it as it is. Keys for which `leave_out` holds are left out.
Status save_snapshot(const std::string& path, const Dictionary& dictionary,
                     const std::function<bool(std::string_view key)>& leave_out);
// Sets all keys of the file; a file that is not there has none. Code::protocol_error where it is no whole snapshot;
// out_of_resources where the dictionary may not hold so much.
Status load_snapshot(const std::string& path, Dictionary& dictionary);

}  // namespace hocket::store
