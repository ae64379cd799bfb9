// Thresholds of the direct paths: how they are read, and that those of the classes choose as their constants did
// before.
#include "src/plan/direct/thresholds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "src/plan/direct/cost.hpp"
#include "src/plan/direct/path.hpp"
#include "src/plan/direct/staging.hpp"
#include "src/spi/plain_messages.hpp"

namespace hocket {
namespace {

using testing::HasSubstr;

constexpr std::string_view all = "one_shot=512K\nalone=16K\npool=128K\nmapped=4K\nsingle_copy=never\n";

TEST(DirectThresholds, AreRead) {
  const auto made = DirectThresholdsByRanks::parse(
      "# a comment\none_shot=512K\nalone = 16K # another\npool=128K\nmapped=4K\n"
      "single_copy=allgather:64K+, broadcast:64K-1000\n",
      "file");
  ASSERT_FALSE(made.ok()) << "a range whose end comes before its beginning";
  const auto good = DirectThresholdsByRanks::parse(
      "# a comment\none_shot=512K\nalone = 16K # another\npool=128K\nmapped=4K\n"
      "single_copy=allgather:64K+, broadcast:1K-2000\n",
      "file");
  ASSERT_TRUE(good.ok()) << good.status().message();
  EXPECT_EQ(good->of(2).one_shot_work_max, 512U << 10);
  EXPECT_EQ(good->of(2).alone_work_max, 16U << 10);
  EXPECT_EQ(good->of(2).pool_input_max, 128U << 10);
  EXPECT_EQ(good->of(2).mapped_min, 4U << 10);
  EXPECT_EQ(good->of(2).single_copy_of(Collective::allgather), (ByteRange{64 << 10, SIZE_MAX}));
  EXPECT_EQ(good->of(2).single_copy_of(Collective::broadcast), (ByteRange{1024, 2000}));
  EXPECT_FALSE(good->of(2).single_copy_of(Collective::allreduce).holds(1 << 20));
  EXPECT_EQ(good->of(3), good->of(2));
  EXPECT_TRUE(DirectThresholdsByRanks::parse(all, "file").ok());
}

TEST(DirectThresholds, OfMoreRanksAreThoseOfTwoButForWhatTheFileSays) {
  const auto made =
      DirectThresholdsByRanks::parse(std::string(all) +
                                         "[3+ ranks]\none_shot=allreduce:32K, reduce:128K, 1M\nread_ratio=3.5\n"
                                         "single_copy=scatter:1M+,scatter_v:2K+,send:64K-1M\n"
                                         "[5+ ranks]\none_shot=allreduce:16K, 2M\n",
                                     "file");
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->of(2).one_shot_work_max_for(Collective::allreduce), 512U << 10);
  EXPECT_EQ(made->of(3).one_shot_work_max_for(Collective::allreduce), 32U << 10);
  EXPECT_EQ(made->of(4).one_shot_work_max_for(Collective::reduce), 128U << 10);
  EXPECT_EQ(made->of(5).one_shot_work_max_for(Collective::allreduce), 16U << 10);
  EXPECT_EQ(made->of(16).one_shot_work_max_for(Collective::reduce), 2U << 20);
  EXPECT_EQ(made->of(3).one_shot_work_max_for(Collective::gather), 1U << 20);
  EXPECT_EQ(made->of(3).alone_work_max, 16U << 10);
  EXPECT_EQ(made->of(2).single_copy_of(Collective::send), ByteRange());
  EXPECT_EQ(made->of(3).single_copy_of(Collective::scatter_v), (ByteRange{2048, SIZE_MAX}));
  EXPECT_EQ(made->of(3).single_copy_of(Collective::send), (ByteRange{64 << 10, 1 << 20}));
  EXPECT_EQ(made->of(2).read_ratio_max, 2.5);
  EXPECT_EQ(made->of(5).read_ratio_max, 3.5);
  EXPECT_FALSE(made->of(2).single_copy_of(Collective::scatter).holds(1 << 20));
  EXPECT_TRUE(made->of(3).single_copy_of(Collective::scatter).holds(1 << 20));
  EXPECT_TRUE(made->of(16).single_copy_of(Collective::scatter).holds(1 << 20)) << "of which its own part says nothing";
}

TEST(DirectThresholds, NameFileAndLineOfAMistake) {
  const auto mistake = [](const std::string& text) {
    const auto made = DirectThresholdsByRanks::parse(text, "file");
    EXPECT_FALSE(made.ok()) << text;
    return made.status().message();
  };
  EXPECT_THAT(mistake(std::string(all) + "speed=4K\n"), HasSubstr("file, line 6: there is no threshold \"speed\""));
  EXPECT_THAT(mistake(std::string(all) + "pool=4K\n"), HasSubstr("line 6: pool is given twice"));
  EXPECT_THAT(mistake("one_shot=many\n"), HasSubstr("line 1: \"many\" is not a number of bytes"));
  EXPECT_THAT(mistake("one_shot=1K\n"), HasSubstr("file: alone is missing"));
  EXPECT_THAT(mistake("[3+ ranks]\n" + std::string(all)), HasSubstr("file: one_shot is missing"));
  EXPECT_THAT(mistake(std::string(all) + "[3+ ranks]\n[3+ ranks]\n"),
              HasSubstr("line 7: a part for more than 3 ranks must come here"));
  EXPECT_THAT(mistake(std::string(all) + "[2+ ranks]\n"), HasSubstr("line 6: a part for more than 2 ranks"));
  EXPECT_THAT(mistake(std::string(all) + "[many+ ranks]\n"), HasSubstr("line 6: there is no threshold"));
  EXPECT_THAT(mistake(std::string(all) + "[3+ ranks]\npool=1K\npool=2K\n"), HasSubstr("line 8: pool is given twice"));
  EXPECT_THAT(mistake(std::string(all) + "read_ratio=3\nread_ratio=3\n"),
              HasSubstr("line 7: read_ratio is given twice"));
  for (const char* ratio : {"", "0", "-1", "fast", "inf", "nan", "4x"}) {
    EXPECT_THAT(mistake(std::string(all) + "read_ratio=" + ratio + "\n"), HasSubstr("is not a number above 0"))
        << ratio;
  }
  EXPECT_THAT(mistake("one_shot=scan:0,2K\n"), HasSubstr("line 1: \"0\" is not a number of bytes"));
  EXPECT_THAT(mistake("one_shot=rung:1K,2K\n"), HasSubstr("line 1: there is no collective \"rung\""));
  for (const char* range :
       {"allgather", "allgather:", "rung:64K+", "allgather:64K-1K", "allgather:64K-+", "allgather:x+"}) {
    EXPECT_THAT(mistake(std::string("single_copy=") + range), HasSubstr("is not a range")) << range;
  }
}

// The counts at which the rules of before were evaluated.
std::vector<std::size_t> counts() {
  std::vector<std::size_t> made{0};
  for (std::size_t power = 1; power <= std::size_t{1} << 24; power *= 2) {
    made.insert(made.end(), {power, power + 1});
    if (power >= 4) made.insert(made.end(), {power - 1, power / 2 * 3});
  }
  std::ranges::sort(made);
  made.erase(std::ranges::unique(made).begin(), made.end());
  return made;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream from(text);
  for (std::string part; std::getline(from, part, separator);) parts.push_back(part);
  return parts;
}

// "direct one-shot:1023,direct mapped"
std::string thresholds_frozen_at(std::size_t count, const std::string& paths) {
  for (const std::string& part : split(paths, ',')) {
    const std::size_t colon = part.find(':');
    if (colon == std::string::npos || count <= std::stoull(part.substr(colon + 1))) return part.substr(0, colon);
  }
  return "";
}

TEST(DirectThresholds, OfTheMeasuredClassesTakeThePathsOfBefore) {
  std::ifstream file(HOCKET_SOURCE_FOLDER "/tests/unit/plan/frozen_paths.txt");
  ASSERT_TRUE(file);
  std::size_t compared = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    const std::vector<std::string> fields = split(line, '|');
    ASSERT_EQ(fields.size(), 5U) << line;
    const MachineClass& machine = *find_machine_class(fields[0]);
    const bool registered = fields[1] == "registered";
    for (const std::string& ranks : split(fields[3], ',')) {
      const DirectSetting setting{.thresholds = &direct_thresholds(machine, std::stoul(ranks)),
                                  .staging_bytes = direct::usual_staging_bytes,
                                  .shares_work = machine.cores_max != 0};
      for (const std::size_t count : counts()) {
        const DirectCall call{.collective = *find_by_name(all_collectives, fields[2]),
                              .ranks = std::stoi(ranks),
                              .count = count,
                              .registered = registered};
        ASSERT_EQ(name_of(foreseen_path(call.exchange(), setting, registered, true)),
                  thresholds_frozen_at(count, fields[4]))
            << line << ": " << count << " elements on " << ranks << " ranks";
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 8'000U);
}

// The sizes between which paths were measured to cross on sixteen cores.
TEST(DirectThresholds, OfManyRanksWithACoreForEachAreAsMeasured) {
  const auto path = [](Collective collective, int ranks, std::size_t bytes) {
    const DirectCall call{.collective = collective, .ranks = ranks, .count = bytes / sizeof(float)};
    const auto members = static_cast<std::size_t>(ranks);
    const DirectSetting setting{.thresholds = &direct_thresholds(*find_machine_class("one-host"), members),
                                .staging_bytes = direct::usual_staging_bytes};
    return foreseen_path(call.exchange(), setting, false, true);
  };
  constexpr std::size_t kib = 1024;
  for (const auto& [ranks, last] : {std::pair(4, 8 * kib), std::pair(8, 2 * kib), std::pair(16, kib)}) {
    EXPECT_EQ(path(Collective::allreduce, ranks, last), DirectPath::one_shot) << ranks;
    EXPECT_EQ(path(Collective::allreduce, ranks, 2 * last), DirectPath::staged) << ranks;
    EXPECT_EQ(path(Collective::broadcast, ranks, 256 * kib), DirectPath::one_shot) << ranks;
    EXPECT_EQ(path(Collective::reduce, ranks, 256 * kib), DirectPath::single_copy) << ranks;
  }
  // The sizes of these are those of a block.
  EXPECT_EQ(path(Collective::allgather, 4, 16 * kib), DirectPath::single_copy);
  EXPECT_EQ(path(Collective::allgather, 8, 32 * kib), DirectPath::staged);
  EXPECT_EQ(path(Collective::alltoall, 4, 16 * kib), DirectPath::single_copy);
  EXPECT_EQ(path(Collective::alltoall, 8, 8 * kib), DirectPath::one_shot);
  EXPECT_EQ(path(Collective::alltoall, 8, 32 * kib), DirectPath::single_copy);
  EXPECT_EQ(path(Collective::reduce, 4, 64 * kib), DirectPath::one_shot);
  EXPECT_EQ(path(Collective::reduce, 16, 4 * kib), DirectPath::one_shot);
  EXPECT_EQ(path(Collective::reduce, 16, 16 * kib), DirectPath::staged);
}

// Four ranks and more that share cores read some of what is large where it lies, even if reading is slow.
TEST(DirectThresholds, OfManyRanksThatShareCoresAllowSlowerReads) {
  for (const char* name : {"one-host-2-cores", "one-host-4-cores", "one-host-16-cores"}) {
    const MachineClass& machine = *find_machine_class(name);
    EXPECT_EQ(direct_thresholds(machine, 3).read_ratio_max, 2.5) << name;
    EXPECT_EQ(direct_thresholds(machine, 4).read_ratio_max, 8) << name;
    const auto path = [&](Collective collective, int ranks, std::size_t block_bytes) {
      const DirectCall call{.collective = collective, .ranks = ranks, .count = block_bytes / sizeof(float)};
      const DirectSetting setting{.thresholds = &direct_thresholds(machine, static_cast<std::size_t>(ranks)),
                                  .staging_bytes = direct::usual_staging_bytes,
                                  .shares_work = true};
      return foreseen_path(call.exchange(), setting, false, true);
    };
    constexpr std::size_t mib = std::size_t{1} << 20;
    EXPECT_EQ(path(Collective::scatter, 3, mib), DirectPath::staged) << name;
    EXPECT_EQ(path(Collective::scatter, 4, mib / 8), DirectPath::staged) << name;
    EXPECT_EQ(path(Collective::scatter, 4, mib / 4), DirectPath::single_copy) << name;
    EXPECT_EQ(path(Collective::alltoall, 4, 16 * mib), DirectPath::staged) << name;
    EXPECT_EQ(path(Collective::alltoall, 8, 4 * mib), DirectPath::staged) << name;
    EXPECT_EQ(path(Collective::alltoall, 8, 8 * mib), DirectPath::single_copy) << name;
    EXPECT_EQ(path(Collective::gather, 8, 8 * mib), DirectPath::staged) << name;
  }
}

// Where nobody says which machines there are, ranks on one host are taken to be.
TEST(DirectThresholds, AreThoseOfOneHostWhereNothingIsSaid) {
  const DirectCall call{.collective = Collective::allgather, .ranks = 2, .count = 1 << 20};
  for (const bool shares_work : {false, true}) {
    DirectSetting setting{.staging_bytes = direct::usual_staging_bytes, .shares_work = shares_work};
    const DirectPath without = foreseen_path(call.exchange(), setting, false, true);
    setting.thresholds = &direct_thresholds(*find_machine_class(shares_work ? "one-host-2-cores" : "one-host"), 2);
    EXPECT_EQ(without, foreseen_path(call.exchange(), setting, false, true));
  }
}

Signature block_of(std::uint64_t bytes) {
  return {.collective = Collective::scatter_v, .dtype = DataType::uint8, .count = bytes};
}

// A block may travel as several messages; then each of these is judged as the whole.
TEST(PlainMessages, StayInPlaceWhereFourRanksShareCoresByTheSizeOfTheirBlock) {
  constexpr std::size_t kib = 1024;
  for (const char* machine : {"one-host-2-cores", "one-host-4-cores", "one-host-16-cores"}) {
    for (const std::size_t ranks : {3, 4, 5}) {
      const DirectSetting setting{.thresholds = &direct_thresholds(*find_machine_class(machine), ranks)};
      const PlainMessages messages = plain_messages(setting, {.read = 7, .copy = 1}, ranks);
      const Signature send{.kind = SignatureKind::send};
      EXPECT_EQ(messages.include(send, 768 * kib), ranks == 4) << machine << ranks;
      EXPECT_FALSE(messages.include(send, 768 * kib - 1)) << machine << ranks;
      EXPECT_EQ(messages.include(send, SIZE_MAX), ranks >= 4) << machine << ranks;
      EXPECT_EQ(messages.include(block_of(512 * kib), 512 * kib), ranks >= 4) << machine << ranks;
      EXPECT_EQ(messages.include(block_of(2048 * kib), 2048 * kib), ranks >= 4) << machine << ranks;
      EXPECT_EQ(messages.include(block_of(1024 * kib), 100 * kib), ranks >= 4) << machine << ranks;
      EXPECT_FALSE(messages.include(block_of(512 * kib - 1), 512 * kib - 1)) << machine << ranks;
      EXPECT_FALSE(messages.include(block_of(16384 * kib), 512 * kib)) << machine << ranks;
      if (ranks < 4) continue;
      EXPECT_TRUE(messages.pay(0)) << machine << ranks;
      EXPECT_FALSE(plain_messages(setting, {.read = 9, .copy = 1}, ranks).pay(0)) << machine << ranks;
    }
  }
}

TEST(PlainMessages, StayInPlaceWhereTheTableSaysSo) {
  const auto setting = [](std::size_t ranks, SingleCopy single_copy) {
    return DirectSetting{.thresholds = &direct_thresholds_on_one_host(false, ranks), .single_copy = single_copy};
  };
  constexpr std::size_t kib = 1024;
  const auto made = [&](std::size_t ranks) {
    return plain_messages(setting(ranks, SingleCopy::automatic), {.read = 2.5, .copy = 1}, ranks);
  };
  const Signature send{.kind = SignatureKind::send}, list{.kind = SignatureKind::list};
  const Signature equal{.collective = Collective::scatter};
  EXPECT_TRUE(made(2).include(send, 64 * kib));
  EXPECT_FALSE(made(2).include(block_of(1024 * kib), 1024 * kib));
  for (const std::size_t ranks : {3, 8}) {
    const PlainMessages messages = made(ranks);
    EXPECT_TRUE(messages.include(send, 256 * kib) && messages.include(send, 1024 * kib));
    EXPECT_FALSE(messages.include(send, 256 * kib - 1) || messages.include(send, 1024 * kib + 1));
    EXPECT_TRUE(messages.include(block_of(512 * kib), 512 * kib) && messages.include(block_of(SIZE_MAX), 512 * kib));
    EXPECT_FALSE(messages.include(block_of(512 * kib - 1), 512 * kib - 1));
    EXPECT_FALSE(messages.include(equal, 1024 * kib)) << "which has a direct path";
    EXPECT_FALSE(messages.include(list, 1024 * kib));
  }
  const PlainMessages always = plain_messages(setting(2, SingleCopy::always), {}, 2);
  EXPECT_TRUE(always.include(equal, 1) && always.pay(0));
  EXPECT_FALSE(plain_messages(setting(3, SingleCopy::never), {.read = 0}, 3).include(send, 256 * kib));
}

TEST(PlainMessages, StayWhereAReadTakesNotMuchLongerThanACopyTakesNow) {
  const DirectSetting setting{.thresholds = &direct_thresholds_on_one_host(false, 2)};
  const PlainMessages messages = plain_messages(setting, {.read = 2.5, .copy = 1}, 2);
  EXPECT_TRUE(messages.pay(0)) << "nothing has been measured: as a copy of one's own";
  EXPECT_TRUE(messages.pay(1));
  EXPECT_FALSE(messages.pay(0.99));
  EXPECT_FALSE(plain_messages(setting, {.read = 2.6, .copy = 1}, 2).pay(0));
  EXPECT_TRUE(plain_messages(setting, {.read = 2.6, .copy = 1}, 2).pay(1.1));
  EXPECT_FALSE(plain_messages(setting, {.read = 2.6, .copy = 1}, 3).pay(1.1)) << "which weigh a copy of their own";
  EXPECT_FALSE(plain_messages(setting, {}, 2).pay(1)) << "nothing can be read";
}

}  // namespace
}  // namespace hocket
