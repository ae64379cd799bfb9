// Selection: from names, from tables of users, and from the library's own tables for machine classes.
#include "src/plan/select.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "src/plan/class_tables.hpp"
#include "src/plan/direct/thresholds.hpp"

namespace hocket {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::size_t most_bytes = std::size_t{64} << 20;

// 4, 6, 8, 12, 16 … bytes.
std::vector<std::size_t> select_sizes() {
  std::vector<std::size_t> made;
  for (std::size_t bytes = 4; bytes <= most_bytes; bytes *= 2) {
    made.push_back(bytes);
    if (bytes + bytes / 2 <= most_bytes) made.push_back(bytes + bytes / 2);
  }
  return made;
}

Topology hosts_of(Rank ranks, Rank ranks_per_host) {
  std::vector<std::uint32_t> hosts;
  for (Rank rank = 0; rank < ranks; ++rank) hosts.push_back(static_cast<std::uint32_t>(rank / ranks_per_host));
  return Topology(hosts);
}

// A call of `ranks` on machines of this class; nothing where so many cannot be in it.
std::optional<Call> call_in(const MachineClass& machine, Rank ranks) {
  Call call{.size = ranks, .speed = machine.speed};
  if (machine.sharing == HostSharing::several_hosts) call.topology = hosts_of(ranks, 1);
  if (machine.sharing == HostSharing::shared_hosts) call.topology = hosts_of(ranks, 2);
  if (machine.sharing == HostSharing::one_host && machine.cores_max != 0) {
    call.cores = std::min<Rank>(machine.cores_max, ranks - 1);
  }
  return &call.machine() == &machine ? std::optional(call) : std::nullopt;
}

Call of_kind(Call call, CallKind kind) {
  call.in_rank_order = kind == CallKind::in_rank_order;
  call.unequal = kind == CallKind::unequal_blocks;
  if (kind == CallKind::lower_precision) call.wire = WireFormat::bfloat16;
  call.narrow_floats = kind == CallKind::narrow_floats;
  return call;
}

bool exists(CallKind kind, Collective collective) {
  switch (kind) {
    case CallKind::usual: return true;
    case CallKind::in_rank_order:
    case CallKind::narrow_floats: return info_of(collective).reduces();
    case CallKind::unequal_blocks:
      return std::ranges::any_of(unequal_collectives,
                                 [&](Collective one) { return info_of(one).equal_blocks == collective; });
    case CallKind::lower_precision: return info_of(collective).wire_formats;
  }
  return false;
}

// Every class, number of ranks, kind, collective and size.
TEST(Selection, IsTotalAndFit) {
  std::size_t tried = 0;
  for (const MachineClass& machine : machine_classes()) {
    for (const Rank ranks : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 24, 31, 32, 33, 48, 64, 100, 257, 1024}) {
      const auto call = call_in(machine, ranks);
      if (!call) continue;
      for (const CallKind kind : all_call_kinds) {
        for (const Collective collective : all_collectives) {
          if (!exists(kind, collective)) continue;
          for (const std::size_t bytes : {std::size_t{0}, std::size_t{4}, std::size_t{16} << 10, std::size_t{16385},
                                          std::size_t{1} << 20, most_bytes, std::size_t{1} << 40}) {
            Call made = of_kind(*call, kind);
            made.collective = collective;
            made.bytes = bytes;
            const Selection found = select(made);
            const auto fitting = std::ranges::count_if(catalog(), [&](const Algorithm& algorithm) {
              return algorithm.collective == collective && is_fit(algorithm, made);
            });
            ASSERT_TRUE(found.head != nullptr || fitting == 1)
                << machine.name << ": no table says anything of " << name_of(collective) << " on " << ranks
                << " ranks, " << name_of(kind);
            ASSERT_EQ(found.algorithm->collective, collective);
            ASSERT_TRUE(is_fit(*found.algorithm, made) || kind == CallKind::lower_precision)
                << machine.name << ": " << found.algorithm->name << " for " << name_of(collective);
            ASSERT_LE(bytes, found.bytes_max);
            ++tried;
          }
        }
      }
    }
  }
  EXPECT_GT(tried, 20'000U);
}

// "2,4-6"
std::vector<Rank> numbers(const std::string& text) {
  std::vector<Rank> made;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t dash = part.find('-');
    const Rank first = std::stoi(part), last = dash == std::string::npos ? first : std::stoi(part.substr(dash + 1));
    for (Rank rank = first; rank <= last; ++rank) made.push_back(rank);
  }
  return made;
}

// "linear:4096,ring"
std::string_view frozen_at(std::size_t bytes, const Choices& choices, Collective collective) {
  return choices.wanted(collective, bytes).algorithm->name;
}

TEST(Selection, IsWhatItWasWhereThatHadBeenMeasured) {
  std::ifstream file(HOCKET_SOURCE_FOLDER "/tests/unit/plan/frozen_choices.txt");
  ASSERT_TRUE(file);
  std::size_t compared = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream fields(line);
    std::string place, kind, collective_name, ranks_list, ranges;
    for (std::string* field : {&place, &kind, &collective_name, &ranks_list}) std::getline(fields, *field, '|');
    std::getline(fields, ranges);
    const Collective collective = *find_by_name(all_collectives, collective_name);
    const auto frozen = Choices::parse(collective_name + "=" + ranges);
    ASSERT_TRUE(frozen.ok()) << frozen.status().message();
    const auto* const of_kind_found =
        std::ranges::find_if(all_call_kinds, [&](CallKind one) { return name_of(one) == kind; });
    for (const Rank ranks : numbers(ranks_list)) {
      Call call = of_kind({.collective = collective, .size = ranks}, *of_kind_found);
      if (place == "several-hosts") call.topology = hosts_of(ranks, 1);
      if (place == "shared-hosts") call.topology = hosts_of(ranks, 2);
      if (place == "one-host-1-core") call.cores = 1;
      if (place == "one-host-2-cores") call.cores = 2;
      for (const std::size_t bytes : select_sizes()) {
        call.bytes = bytes;
        ASSERT_EQ(select(call).algorithm->name, frozen_at(bytes, *frozen, collective))
            << place << ", " << collective_name << " of " << bytes << " bytes on " << ranks << " ranks " << kind;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 50'000U);
}

TEST(Selection, GoesByNameThenByTablesOfUsersThenByTheClass) {
  const Choices named = *Choices::parse("allreduce=two_shot:64");
  const Tuning tables = *Tuning::parse("[4 ranks on 1 host]\nallreduce=one_shot:64K\n", "table");
  Call call{.collective = Collective::allreduce, .size = 4, .bytes = 64};
  EXPECT_EQ(select(call, named, tables).explanation(), "name");
  EXPECT_EQ(select(call, named, tables).algorithm->name, "two_shot");
  call.bytes = 65;
  EXPECT_EQ(select(call, named, tables).explanation(), "HOCKET_TUNING [4 ranks on 1 host], up to 64K");
  EXPECT_EQ(select(call, named, tables).algorithm->name, "one_shot");
  call.bytes = 65537;
  EXPECT_EQ(select(call, named, tables).explanation(), "measured/one-host [4 ranks], up to 1M");
  call.size = 6;
  EXPECT_THAT(select(call, named, tables).explanation(), StartsWith("model/one-host [5-7 ranks]"));
  call.size = 4;
  call.cores = 2;
  EXPECT_EQ(select(call, named, tables).explanation(), "measured/one-host-2-cores [4 ranks], up to 16M");
  call.collective = Collective::send;
  EXPECT_EQ(select(call, named, tables).explanation(), "common [any ranks]");
}

TEST(Selection, TakesTheNamedAlgorithmWhereTheCollectiveHasItAndItFits) {
  EXPECT_EQ(select_algorithm({.collective = Collective::allreduce, .size = 4, .bytes = 4}, "two_shot").name,
            "two_shot");
  EXPECT_NE(select_algorithm({.collective = Collective::broadcast, .size = 4, .bytes = 4}, "two_shot").name,
            "two_shot");
  const Choices named = *Choices::parse("ring;alltoall=bruck");
  Call call{.collective = Collective::allreduce, .size = 4, .bytes = 4};
  EXPECT_EQ(named_algorithm(call, named)->name, "ring");
  call.in_rank_order = true;
  EXPECT_EQ(named_algorithm(call, named), nullptr) << "it adds in another order";
  call = {.collective = Collective::allreduce, .size = 4, .bytes = 4, .wire = WireFormat::bfloat16};
  EXPECT_EQ(named_algorithm(call, named), nullptr) << "it is exact";
  call = {.collective = Collective::alltoall, .size = 4, .bytes = 4, .unequal = true};
  EXPECT_EQ(named_algorithm(call, named), nullptr) << "blocks pass through other ranks";
  call = {.collective = Collective::broadcast, .size = 4, .bytes = 4};
  EXPECT_EQ(named_algorithm(call, named), nullptr) << "there is none";
  EXPECT_EQ(named_algorithm(call, {}), nullptr);
}

TEST(Selection, KeepsTheOrderOfRanksAndIsExactThere) {
  for (const Collective collective : all_collectives) {
    for (const Rank size : {1, 2, 3, 8, 16, 17, 257}) {
      for (const std::size_t bytes : {0, 1 << 10, 100 << 10, 1 << 20, 1 << 30}) {
        for (const WireFormat wire : {WireFormat::exact, WireFormat::bfloat16}) {
          const Call call{.collective = collective, .size = size, .bytes = bytes, .wire = wire, .in_rank_order = true};
          for (const std::string_view wanted :
               {"auto", "ring", "binomial_tree", "chain", "two_level", "encoded_direct"}) {
            const Algorithm& chosen = select_algorithm(call, wanted);
            EXPECT_TRUE(chosen.in_rank_order || !info_of(collective).reduces())
                << name_of(collective) << ": " << chosen.name;
            EXPECT_FALSE(chosen.encoded) << name_of(collective) << ": " << chosen.name;
          }
        }
      }
    }
  }
}

TEST(Selection, KnowsNames) {
  EXPECT_TRUE(known_algorithm("auto"));
  EXPECT_TRUE(known_algorithm("dissemination"));
  EXPECT_FALSE(known_algorithm("rung"));
  EXPECT_FALSE(known_algorithm(""));
  EXPECT_EQ(out_of_rank_order("ring"), Collective::allreduce);
  EXPECT_EQ(out_of_rank_order("chain"), Collective::reduce);
  for (const std::string_view name : {"auto", "linear", "ordered_chain", "two_shot", "bruck", "no such algorithm"}) {
    EXPECT_EQ(out_of_rank_order(name), std::nullopt) << name;
  }
}

// ---- the files ------------------------------------------------------------------------------------------------------

TEST(ClassTables, AreSoundAndOfClassesThatThereAre) {
  for (const TableFile& file : table_files()) {
    const std::string_view folder = file.name.substr(0, file.name.find('/'));
    const std::string_view name = file.name.substr(std::min(file.name.find('/') + 1, file.name.size()));
    if (file.name != "common") {
      EXPECT_NE(find_machine_class(name), nullptr) << file.name;
    }
    if (folder == "direct") {
      const auto made = DirectThresholdsByRanks::parse(file.text, file.name);
      EXPECT_TRUE(made.ok()) << made.status().message();
      continue;
    }
    EXPECT_TRUE(file.name == "common" || folder == "measured" || folder == "model") << file.name;
    const auto made = Tuning::parse(file.text, file.name);
    ASSERT_TRUE(made.ok()) << made.status().message();
    EXPECT_EQ(Tuning::parse(made->text(), file.name)->text(), made->text());
  }
}

TEST(ClassTables, OfEveryClassAreMeasuredOrTheModels) {
  for (const MachineClass& machine : machine_classes()) {
    EXPECT_FALSE(tables_of(machine).empty()) << machine.name;
    EXPECT_EQ(tables_of(machine).back().name, "common") << machine.name;
    const bool without_network = machine.speed == NetworkSpeed::unknown && machine.sharing != HostSharing::one_host;
    EXPECT_EQ(tables_of(machine).size() == 1, without_network) << machine.name;
  }
}

TEST(ClassTables, HaveADigestOfAllThatTheySay) {
  EXPECT_EQ(selection_digest(), selection_digest());
  EXPECT_NE(selection_digest(), 0U);
}

}  // namespace
}  // namespace hocket
