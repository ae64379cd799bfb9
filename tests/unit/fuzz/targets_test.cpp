// What the fuzzers run, without libFuzzer: the seeds, the corpus that was kept, and inputs near to them.
#include "tests/fuzz/targets.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

namespace hocket::fuzz {
namespace {

std::vector<std::string> corpus_of(std::string_view name) {
  std::vector<std::string> inputs;
  const auto folder = std::filesystem::path(HOCKET_SOURCE_FOLDER) / "tests/fuzz/corpus" / name;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return inputs;
}

class FuzzTarget : public testing::TestWithParam<const Target*> {};

TEST_P(FuzzTarget, TakesItsSeedsForValid) {
  std::size_t number = 0;
  for (const std::string& seed : GetParam()->seeds()) EXPECT_TRUE(GetParam()->run(seed)) << "seed " << number++;
}

// A target aborts where it finds a defect.
TEST_P(FuzzTarget, StandsItsCorpus) {
  const auto corpus = corpus_of(GetParam()->name);
  EXPECT_FALSE(corpus.empty());
  for (const std::string& input : corpus) GetParam()->run(input);
}

TEST_P(FuzzTarget, StandsDamagedSeeds) {
  std::mt19937 random(1);
  GetParam()->run({});
  for (const std::string& seed : GetParam()->seeds()) {
    for (int round = 0; round < 40; ++round) {
      std::string input = seed;
      for (int changes = 1 + round % 3; changes > 0; --changes)
        input[random() % input.size()] = static_cast<char>(random());
      GetParam()->run(input);
      GetParam()->run(std::string_view(input).substr(0, random() % input.size()));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, FuzzTarget, testing::ValuesIn(all_targets),
                         [](const auto& target) { return std::string(target.param->name); });

}  // namespace
}  // namespace hocket::fuzz
