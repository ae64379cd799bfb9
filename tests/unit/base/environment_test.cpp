#include "src/base/environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace hocket::environment {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// Starts each test without HOCKET_ variables, and puts the process's own back afterwards.
class EnvironmentTest : public testing::Test {
 protected:
  void SetUp() override { own_ = take_ours(); }
  void TearDown() override {
    take_ours();
    for (const auto& [name, value] : own_) setenv(name.c_str(), value.c_str(), 1);
  }

 private:
  static std::map<std::string, std::string> take_ours() {
    std::map<std::string, std::string> ours;
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string pair = *entry;
      if (pair.starts_with("HOCKET_")) ours[pair.substr(0, pair.find('='))] = pair.substr(pair.find('=') + 1);
    }
    for (const auto& [name, value] : ours) unsetenv(name.c_str());
    return ours;
  }

  std::map<std::string, std::string> own_;
};

TEST_F(EnvironmentTest, FindsTheFirstVariableThatIsSetAndNotEmpty) {
  EXPECT_FALSE(find({"HOCKET_RANK", "HOCKET_JOB"}));
  setenv("HOCKET_JOB", "7", 1);
  setenv("HOCKET_RANK", "", 1);
  const auto second = find({"HOCKET_RANK", "HOCKET_JOB"});
  ASSERT_TRUE(second);
  EXPECT_EQ(second->name, "HOCKET_JOB");
  EXPECT_EQ(second->value, "7");
  setenv("HOCKET_RANK", "2", 1);
  EXPECT_EQ(find({"HOCKET_RANK", "HOCKET_JOB"})->name, "HOCKET_RANK");
}

TEST_F(EnvironmentTest, ReadsWholeNumbersInRange) {
  constexpr auto lowest = std::numeric_limits<std::int64_t>::min();
  constexpr auto highest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(to_integer({"A", "0"}, 0, 0).value(), 0);
  EXPECT_EQ(to_integer({"A", "-12"}, -12, 5).value(), -12);
  EXPECT_EQ(to_integer({"A", "007"}, 0, 7).value(), 7);
  EXPECT_EQ(to_integer({"A", "9223372036854775807"}, lowest, highest).value(), highest);
  EXPECT_EQ(to_integer({"A", "-9223372036854775808"}, lowest, highest).value(), lowest);
}

TEST_F(EnvironmentTest, RefusesWhatIsNoNumberInRange) {
  const std::vector<std::string> wrong = {"",    " 1",  "1 ",  "+1",
                                          "0x1", "1.0", "1e3", "one",
                                          "--1", "8",   "-1",  "9223372036854775808",
                                          "1,0", "1\n", "-",   "1234567890123456789012345678901234567890"};
  for (const auto& value : wrong) {
    const auto number = to_integer({"HOCKET_RANK", value}, 0, 7);
    ASSERT_FALSE(number.ok()) << '"' << value << '"';
    EXPECT_EQ(number.status().code(), Code::invalid_environment);
    EXPECT_THAT(number.status().message(),
                AllOf(HasSubstr("HOCKET_RANK"), HasSubstr('"' + value + '"'), HasSubstr("from 0 to 7")));
  }
}

TEST_F(EnvironmentTest, ReadsBytesWithAUnit) {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  EXPECT_EQ(to_bytes({"A", "0"}, 0, most).value(), 0);
  EXPECT_EQ(to_bytes({"A", "4096"}, 0, most).value(), 4096);
  EXPECT_EQ(to_bytes({"A", "512K"}, 0, most).value(), 512 << 10);
  EXPECT_EQ(to_bytes({"A", "4m"}, 0, most).value(), 4 << 20);
  EXPECT_EQ(to_bytes({"A", "1G"}, 0, most).value(), most);
  for (const char* value : {"", "K", "-1", "-1K", "2G", "1T", "1KB", "1.5M", "K1", "99999999999999999999G", " 1K"}) {
    const auto bytes = to_bytes({"HOCKET_TCP_SEND_BUFFER", value}, 0, most);
    ASSERT_FALSE(bytes.ok()) << '"' << value << '"';
    EXPECT_EQ(bytes.status().code(), Code::invalid_environment);
    EXPECT_THAT(bytes.status().message(), AllOf(HasSubstr("HOCKET_TCP_SEND_BUFFER"), HasSubstr("as in 512K"),
                                                HasSubstr('"' + std::string(value) + '"')));
  }
}

TEST_F(EnvironmentTest, KnowsWhichVariableIsInForce) {
  for (const char* launchers : {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}) unsetenv(launchers);
  EXPECT_FALSE(in_force("HOCKET_RANK"));
  setenv("PMI_RANK", "5", 1);
  EXPECT_EQ(in_force("HOCKET_RANK")->name, "PMI_RANK");
  setenv("HOCKET_RANK", "2", 1);
  EXPECT_EQ(in_force("HOCKET_RANK")->name, "HOCKET_RANK");
  EXPECT_EQ(in_force("HOCKET_RANK")->value, "2");
  unsetenv("PMI_RANK");
  EXPECT_FALSE(in_force("HOCKET_NONE"));
}

TEST_F(EnvironmentTest, AcceptsTheNamesThatHocketKnowsAndThoseOfOthers) {
  for (const Known& one : known()) setenv(one.name.data(), "1", 1);
  for (const char* name :
       {"HOCKET_RANK", "HOCKET_WORLD_SIZE", "HOCKET_STORE", "HOCKET_TIMEOUT_MS", "HOCKET_JOB", "HOCKET_TRANSPORT",
        "HOCKET_ALGORITHM", "HOCKET_LOG_LEVEL", "HOCKET_HOST_ID", "HOCKET_SOCKET_IFNAME", "HOCKET_SOCKET_FAMILY"}) {
    setenv(name, "1", 1);
  }
  setenv("HOCKETY", "1", 1);
  setenv("MY_HOCKET_RANK", "1", 1);
  const auto sentences = unknown_names();
  unsetenv("HOCKETY");
  unsetenv("MY_HOCKET_RANK");
  EXPECT_THAT(sentences, IsEmpty());
}

// Environment modules and Kubernetes name variables after packages and services.
TEST_F(EnvironmentTest, LeavesAloneWhatModulesAndServicesSet) {
  for (const char* name : {"HOCKET_ROOT", "HOCKET_DIR", "HOCKET_LIB", "HOCKET_VERSION", "HOCKET_INCLUDE_DIR",
                           "HOCKET_PORT", "HOCKET_SERVICE_HOST", "HOCKET_STORE_PORT", "HOCKET_STORE_SERVICE_PORT",
                           "HOCKET_STORE_SERVICE_PORT_HTTP", "HOCKET_STORE_PORT_29500_TCP_ADDR"}) {
    setenv(name, "1", 1);
    EXPECT_THAT(unknown_names(), IsEmpty()) << name;
    unsetenv(name);
  }
  for (const char* name : {"HOCKET_TRANSPRT", "HOCKET_RANKPORT", "HOCKET_ROOTS", "HOCKET_PORT_NAME"}) {
    setenv(name, "1", 1);
    EXPECT_THAT(unknown_names(), ElementsAre(HasSubstr(name)));
    unsetenv(name);
  }
}

TEST_F(EnvironmentTest, SuggestsTheNameThatWasMeant) {
  const std::map<std::string, std::string> meant = {
      {"HOCKET_RNAK", "HOCKET_RANK"},          {"HOCKET_WORLDSIZE", "HOCKET_WORLD_SIZE"},
      {"HOCKET_TIMEOUT", "HOCKET_TIMEOUT_MS"}, {"HOCKET_ALGORITHMS", "HOCKET_ALGORITHM"},
      {"HOCKET_rank", "HOCKET_RANK"},          {"HOCKET_LOGLEVEL", "HOCKET_LOG_LEVEL"}};
  for (const auto& [wrong, right] : meant) {
    setenv(wrong.c_str(), "1", 1);
    EXPECT_THAT(unknown_names(),
                ElementsAre(AllOf(HasSubstr(wrong + " is not"), HasSubstr("did you mean " + right + "?"))));
    unsetenv(wrong.c_str());
  }
}

TEST_F(EnvironmentTest, SuggestsNothingWhereNoNameIsNear) {
  setenv("HOCKET_MOST_EXCELLENT_COLOUR", "red", 1);
  EXPECT_THAT(unknown_names(), ElementsAre(AllOf(HasSubstr("HOCKET_MOST_EXCELLENT_COLOUR"),
                                                 Not(HasSubstr("did you mean")), HasSubstr("hocket-plan settings"))));
}

TEST_F(EnvironmentTest, AnEmptyValueDoesNotExcuseAWrongName) {
  setenv("HOCKET_RNAK", "", 1);
  EXPECT_THAT(unknown_names(), SizeIs(1));
}

TEST_F(EnvironmentTest, ReadsSwitches) {
  for (const char* value : {"on", "1"}) EXPECT_TRUE(to_switch({"HOCKET_DETERMINISTIC", value}).value()) << value;
  for (const char* value : {"off", "0"}) EXPECT_FALSE(to_switch({"HOCKET_DETERMINISTIC", value}).value()) << value;
  for (const char* value : {"", "ON", "yes", "2", "on "}) {
    const auto read = to_switch({"HOCKET_DETERMINISTIC", value}, "auto, ");
    ASSERT_FALSE(read.ok()) << value;
    EXPECT_EQ(read.status().code(), Code::invalid_environment);
    EXPECT_THAT(read.status().message(), AllOf(HasSubstr("HOCKET_DETERMINISTIC is \"" + std::string(value) + '"'),
                                               HasSubstr("set it to auto, on or off (1 or 0)")));
  }
}

}  // namespace
}  // namespace hocket::environment
