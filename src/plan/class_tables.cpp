#include "src/plan/class_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "src/base/hash.hpp"
#include "src/plan/direct/thresholds.hpp"
#include "src/plan/scan.hpp"

namespace hocket {
namespace {

const TableFile* find_file(std::string_view name) {
  const auto found = std::ranges::find(table_files(), name, &TableFile::name);
  return found == table_files().end() ? nullptr : &*found;
}

// What a file of the tree says. A mistake in it is one of the build, which a test of all files finds.
template <class Parsed>
Parsed taken_apart(const TableFile& file) {
  auto parsed = Parsed::parse(file.text, file.name);
  if (!parsed.ok()) throw std::logic_error(parsed.status().message());
  return std::move(*parsed);
}

struct ClassData {
  std::vector<ClassTable> tables;
  DirectThresholdsByRanks direct;
};

ClassData read(const MachineClass& machine) {
  ClassData data;
  for (const std::string& name :
       {fmt::format("measured/{}", machine.name), fmt::format("model/{}", machine.name), std::string("common")}) {
    const TableFile* file = find_file(name);
    if (file != nullptr) data.tables.push_back({.name = file->name, .tables = taken_apart<Tuning>(*file)});
  }
  const TableFile* direct = find_file(fmt::format("direct/{}", machine.name));
  if (direct == nullptr) direct = find_file("direct/one-host");  // no memory is shared between hosts
  data.direct = taken_apart<DirectThresholdsByRanks>(*direct);
  return data;
}

constexpr std::size_t classes_max = 32;

// Read when the class is met first: a process meets one or two.
template <std::size_t index>
const ClassData& data_at() {
  static const ClassData data = read(machine_classes()[index]);
  return data;
}

const ClassData& data_of(const MachineClass& machine) {
  constexpr auto readers = []<std::size_t... index>(std::index_sequence<index...>) {
    return std::array{&data_at<index>...};
  }
  (std::make_index_sequence<classes_max>());
  return readers[static_cast<std::size_t>(&machine - machine_classes().data())]();
}

}  // namespace

std::span<const ClassTable> tables_of(const MachineClass& machine) {
  return data_of(machine).tables;
}

const DirectThresholds& direct_thresholds(const MachineClass& machine, std::size_t ranks) {
  return data_of(machine).direct.of(ranks);
}

const DirectThresholds& direct_thresholds_on_one_host(bool shares_cores, std::size_t ranks) {
  constexpr Rank size = 2;  // any number will do: all are on one host
  const Rank cores = shares_cores ? 1 : 0;
  return direct_thresholds(machine_class_of(Topology(), size, cores, NetworkSpeed::unknown), ranks);
}

std::uint64_t selection_digest() {
  static const std::uint64_t digest = [] {
    Hash hash;
    for (const TableFile& file : table_files()) hash.add(file.name).add(file.text);
    return hash.value();
  }();
  return digest;
}

}  // namespace hocket
