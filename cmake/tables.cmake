# The library's own tables (src/plan/class_tables.hpp), compiled in as text: sets tables_source.
file(GLOB_RECURSE table_files CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/src/plan/tables src/plan/tables/*.txt)
list(SORT table_files)
set(rows "")
foreach(table IN LISTS table_files)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/plan/tables/${table})
  file(READ ${PROJECT_SOURCE_DIR}/src/plan/tables/${table} text)
  string(REGEX REPLACE "\\.txt$" "" name ${table})
  string(APPEND rows "    {\"${name}\", R\"table(${text})table\"},\n")
endforeach()
set(tables_source ${PROJECT_BINARY_DIR}/table_files.cpp)
file(CONFIGURE OUTPUT ${tables_source} @ONLY CONTENT
[[// Written by cmake/tables.cmake.
#include "src/plan/class_tables.hpp"

namespace hocket {

std::span<const TableFile> table_files() {
  static constexpr TableFile files[] = {
@rows@  };
  return files;
}

}  // namespace hocket
]])
