// The library's own tables as another version of Hocket might have them: one threshold is another.
#define table_files table_files_of_this_build
#include "table_files.cpp"
#undef table_files

#include <string>
#include <vector>

namespace hocket {

std::span<const TableFile> table_files() {
  static const std::string changed = [] {
    std::string text(table_files_of_this_build().back().text);
    return text + "# measured again\n";
  }();
  static const std::vector<TableFile> files = [] {
    const auto own = table_files_of_this_build();
    std::vector<TableFile> all(own.begin(), own.end());
    all.back().text = changed;
    return all;
  }();
  return files;
}

}  // namespace hocket
