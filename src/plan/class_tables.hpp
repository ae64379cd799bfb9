// The library's own tables, one set for each machine class: text files in src/plan/tables that are compiled in.
//
//   measured/CLASS.txt   what was measured on such a machine
//   model/CLASS.txt      what the model says, written by `hocket-plan choose --class`
//   common.txt           what holds in every class
//   direct/CLASS.txt     thresholds of the direct paths (direct/thresholds.hpp)
//
// Each of the first three may be missing; what one does not say, the next one does.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "src/plan/machine_class.hpp"
#include "src/plan/tuning.hpp"

namespace hocket {

struct TableFile {
  std::string_view name;  // "measured/one-host"
  std::string_view text;
};
// In the order of names. Written by CMake.
std::span<const TableFile> table_files();

// A file of the class, taken apart. Found first where it comes first.
struct ClassTable {
  std::string_view name;
  Tuning tables;
};
// All live as long as the program.
std::span<const ClassTable> tables_of(const MachineClass& machine);

// Differs where other tables are compiled in: ranks that choose by different tables must not meet.
std::uint64_t selection_digest();

}  // namespace hocket
