// What hocket-doctor makes of records that strangers may have written.
#include "tools/doctor/record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tools/doctor/diagnosis.hpp"
#include "tools/doctor/picture.hpp"

namespace hocket::doctor {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

json doctor_record_call_of(const std::string& text) {
  return {{"communicator", 0}, {"number", 6},     {"kind", "collective"}, {"collective", text}, {"call", text},
          {"type", "int32"},   {"algorithm", ""}, {"began_ns", 1'000},    {"count", 4},         {"bytes", 16}};
}

json record_of(int rank, int size) {
  json wait = doctor_record_call_of("allreduce");
  wait.update({{"begun", true}, {"seconds", 1.0}, {"awaited", json::array({1})}, {"text", "waiting for rank 1"}});
  return {
      {"hocket_record", 1},
      {"name", "default"},
      {"group", "00000000000000ab"},
      {"reason", "asked"},
      {"rank", rank},
      {"size", size},
      {"processes", json::array()},
      {"clock", {{"kernel", "k"}, {"steady_ns", 2'000}, {"date_ns", 3'000}}},
      {"cause", nullptr},
      {"communicators", json::array({{{"number", 0}, {"name", "default"}, {"ranks", json::array()}, {"calls", 6}}})},
      {"operations", json::array({doctor_record_call_of("allreduce")})},
      {"waits", json::array({wait})}};
}

std::string problem_of(const json& record) {
  Groups groups;
  return groups.add(record.dump(), "what rank 0 answered");
}

TEST(DoctorRecord, OfAStrangerSteersNoTerminal) {
  const std::string steering =
      "x\x1b[2J\xc2\x9b"
      "1m";
  json record = record_of(0, 2);
  for (const char* field : {"name", "group", "reason"}) record[field] = steering;
  record["cause"] = {{"code", steering}, {"message", steering}, {"operation", steering}, {"rank", 0}, {"peer", 1}};
  record["communicators"][0]["name"] = steering;
  for (json* call : {&record["operations"][0], &record["waits"][0]}) {
    for (const char* field : {"kind", "collective", "call", "type", "algorithm"}) (*call)[field] = steering;
  }
  record["waits"][0]["text"] = steering;
  Groups groups;
  ASSERT_EQ(groups.add(record.dump(), "what rank 0 answered"), "");
  const auto sorted = std::move(groups).sorted();
  const std::string said = sorted[0].name + sorted[0].id + diagnose(sorted[0]).sentence + draw(sorted[0], 10, false);
  EXPECT_THAT(said, HasSubstr("\\x1b[2J"));
  EXPECT_THAT(said, Not(HasSubstr("\x1b")));
  EXPECT_THAT(said, Not(HasSubstr("\xc2\x9b")));
  EXPECT_THAT(Groups().add("{\"hocket_record\": 1, \"\x1b\"", "\x1b.json"), Not(HasSubstr("\x1b")));
}

TEST(DoctorRecord, HasRanksAndTimesWithinBounds) {
  EXPECT_EQ(problem_of(record_of(0, 1 << 20)), "") << "as many as a communicator may have";
  for (const auto& [rank, size] : {std::pair(0, (1 << 20) + 1), {0, 1 << 30}, {0, 0}, {0, -1}, {2, 2}, {-1, 2}}) {
    EXPECT_THAT(problem_of(record_of(rank, size)), HasSubstr("is no record that can be read"))
        << rank << " of " << size;
  }
  const auto spoilt = [](const std::string& at, const json& value) {
    json record = record_of(0, 2);
    record[json::json_pointer(at)] = value;
    return problem_of(record);
  };
  for (const char* at : {"/waits/0/awaited/0", "/operations/0/peer", "/rank", "/operations/0/number"}) {
    for (const json& value : {json(1e300), json(std::uint64_t{1} << 40), json("1"), json(-2)}) {
      EXPECT_NE(spoilt(at, value), "") << at << " " << value;
    }
  }
  for (const char* at : {"/operations/0/began_ns", "/operations/0/ended_ns", "/clock/steady_ns"}) {
    EXPECT_NE(spoilt(at, INT64_MAX), "") << at;
    EXPECT_NE(spoilt(at, INT64_MIN), "") << at;
    EXPECT_EQ(spoilt(at, -5), "") << at;
  }
}

// What it says of its wait is from before the call ended: it waited for rank 1, and that for rank 2.
TEST(DoctorRecord, SaysThatTheRankIsSlowThatCameLast) {
  Groups groups;
  for (int rank = 0; rank < 3; ++rank) {
    json record = record_of(rank, 3);
    json& call = record["operations"][0];
    call["began_ns"] = rank == 2 ? 700'000'000 : 1'000 - rank;
    call["ended_ns"] = 800'000'000;
    if (rank != 0) record["waits"] = json::array();
    ASSERT_EQ(groups.add(record.dump(), "a rank"), "");
  }
  const Diagnosis found = diagnose(std::move(groups).sorted()[0]);
  EXPECT_EQ(found.kind, "slow");
  EXPECT_EQ(found.rank, 2);
  EXPECT_THAT(found.sentence, HasSubstr("Rank 2 was slow: it began allreduce number 6 0.700 s after rank 0"));
}

// Rank 2 waits for rank 1, which has begun the call and not told yet that it waits for rank 0.
TEST(DoctorRecord, BlamesNoRankThatIsInTheCallWhereAnotherHasNotComeToIt) {
  for (const bool has_record : {true, false}) {
    Groups groups;
    for (int rank = has_record ? 0 : 1; rank < 3; ++rank) {
      json record = record_of(rank, 3);
      if (rank != 2) record["waits"] = json::array();
      if (rank == 0) record["operations"] = json::array();
      if (rank == 0) record["communicators"][0]["calls"] = 5;
      ASSERT_EQ(groups.add(record.dump(), "a rank"), "");
    }
    const Diagnosis found = diagnose(std::move(groups).sorted()[0]);
    EXPECT_EQ(found.kind, has_record ? "never started" : "silent");
    EXPECT_EQ(found.rank, 0);
  }
}

TEST(DoctorRecord, ListsSoManyRanksAtMost) {
  json record = record_of(0, 65536);
  record["waits"] = json::array();
  Groups groups;
  ASSERT_EQ(groups.add(record.dump(), "one"), "");
  EXPECT_THAT(diagnose(std::move(groups).sorted()[0]).sentence, HasSubstr("15, 16 and 65519 more wrote no record"));
}

}  // namespace
}  // namespace hocket::doctor
