// hocket-sgd --prove: what it counts is exact; it ends when it is told to, and takes all that it started with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/process/program.hpp"

namespace hocket {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string proof_arguments =
    " --prove --ranks 3 --sizes 1000,100K --iterations 2 --hidden 16 --batch 60 --drawn 180 ";

// `command` with --json - added.
json proof_of(const std::string& command) {
  const Ran ran = run_command(command + " --json -");
  EXPECT_EQ(ran.status, 0) << ran.error;
  json document = json::parse(ran.out, nullptr, false);
  if (document.is_discarded()) {
    ADD_FAILURE() << "not JSON: " << ran.out;
    document = json::object();
  }
  return document;
}

void expect_exact_counts(json proof) {
  EXPECT_EQ(proof["holds"], true);
  ASSERT_EQ(proof["measured"].size(), 2u * 2u * 2u);  // 2 and 3 ranks, ring and naive, two sizes
  for (const json& row : proof["measured"]) {
    const std::int64_t ranks = row["ranks"], bytes = row["bytes"];
    const bool ring = row["way"] == "ring";
    const std::int64_t steps = ring ? 2 * (ranks - 1) : ranks - 1;
    const std::int64_t sent = ring ? 2 * (ranks - 1) * bytes / ranks : (ranks - 1) * bytes;
    EXPECT_EQ(row["steps"][1], steps) << row;
    EXPECT_EQ(row["bytes_sent"][1], sent) << row;
    if (ring) {
      EXPECT_EQ(row["steps"][0], steps) << row;
      EXPECT_EQ(row["bytes_sent"][0], sent) << row;
    }
    EXPECT_EQ(row["sums_right"], true) << row;
    EXPECT_GT(row["seconds"], 0.0) << row;
    EXPECT_GE(row["calls"], 2) << row;
  }
  EXPECT_EQ(proof["training"].size(), 1u + 3u);  // one rank, and three ways for two
}

TEST(SgdProve, CountsAreExactOnLoopback) {
  const json proof = proof_of("$SGD --links loopback" + proof_arguments);
  expect_exact_counts(proof);
  EXPECT_THAT(proof.value("links", ""), HasSubstr("loopback"));
}

// On network namespaces where this machine allows them, else on loopback, saying so.
TEST(SgdProve, CountsAreExactOnTheBestLinksThereAre) {
  const json proof = proof_of("$SGD --link-rate 1gbit" + proof_arguments);
  expect_exact_counts(proof);
  EXPECT_THAT(proof.value("links", ""),
              testing::AnyOf(HasSubstr("3 network namespaces"), HasSubstr("no shaped links")));
}

TEST(SgdProve, CountsAreExactBelowALauncher) {
  expect_exact_counts(proof_of("$RUN --no-label -n 4 $SGD" + proof_arguments));
  const Ran ran = run_command("$RUN -n 2 $SGD" + proof_arguments);
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.error, HasSubstr("the launcher has started 2"));
}

TEST(SgdProve, WritesATableAndAPageThatNeedsNothingElse) {
  const TemporaryFolder folder;
  const Ran ran = run_command("$SGD --links loopback --html " + folder.file("page.html") + proof_arguments);
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("2(N-1)"), HasSubstr("R²"), HasSubstr("T_sync/T_comp"),
                             HasSubstr("Every counted fact holds")));
  std::string page = contents(folder.file("page.html"));
  // The name of SVG's vocabulary, which nothing loads.
  const std::string vocabulary = " xmlns=\"http://www.w3.org/2000/svg\"";
  for (auto at = page.find(vocabulary); at != std::string::npos; at = page.find(vocabulary))
    page.erase(at, vocabulary.size());
  EXPECT_THAT(page, AllOf(HasSubstr("<svg"), HasSubstr("Every counted fact holds"), HasSubstr("</html>")));
  EXPECT_THAT(page, AllOf(Not(HasSubstr("http:")), Not(HasSubstr("https:")), Not(HasSubstr("src=")),
                          Not(HasSubstr("<link")), Not(HasSubstr("<script")), Not(HasSubstr("nan"))));
}

TEST(SgdProve, WrongInputIsExplained) {
  struct Wrong {
    const char* arguments;
    const char* reason;
  };
  for (const Wrong& wrong : {Wrong{"--prove --ranks 1", "--ranks"},
                             {"--prove --sizes 4X", "4X"},
                             {"--prove --sizes K", "'K' is not a size"},
                             {"--prove --links string", "--links: 'string' is not one of auto, shaped, loopback."},
                             {"--prove --link-rate nan", "--link-rate: 'nan' is not a rate from 1kbit to 1000gbit"},
                             {"--prove --links loopback --link-rate=-5mbit", "'-5mbit' is not a rate"},
                             {"--prove --link-rate 0.0mbit", "'0.0mbit' is not a rate"},
                             {"--prove --link-rate 400", "'400' is not a rate"},
                             {"--prove --link-rate 2000gbit", "'2000gbit' is not a rate"},
                             {"--prove --link-rate ''", "'' is not a rate"},
                             {"--prove --links 2", "--links: '2' is not one of auto, shaped, loopback."},
                             {"--prove --test-hosts /nonexistent", "there is no /nonexistent"},
                             {"--bytes 4K", "--bytes requires --prove"},
                             {"--html page.html", "--output requires --prove"},
                             {"--prove --links loopback --ranks 2 --sizes 4K --batch 60 --html /nonexistent/page",
                              "Cannot write /nonexistent/page"},
                             {"--prove --links loopback --ranks 2 --sizes 4K --data /nonexistent", "/nonexistent"}}) {
    const Ran ran = run_command(std::string("$SGD ") + wrong.arguments);
    EXPECT_EQ(ran.status, 2) << wrong.arguments << ran.out << ran.error;
    EXPECT_THAT(ran.error, HasSubstr(wrong.reason)) << wrong.arguments;
  }
}

// Command lines that contain `text`.
std::vector<std::string> processes_with(const std::string& text) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string line = contents((entry.path() / "cmdline").string());
    if (line.find(text) != std::string::npos) found.push_back(line);
  }
  return found;
}

TEST(SgdInterrupted, LeavesNoProcessBehind) {
  const TemporaryFolder folder;  // its name marks the processes
  const std::string marked = " --json " + folder.file("results");
  for (const std::string& command :
       {"$SGD --prove --iterations 10000" + marked, "$SGD --prove --links loopback --iterations 10000" + marked,
        "$RUN -n 3 $SGD --epochs 1000000" + marked}) {
    const Ran ran = run_command("timeout -s INT -k 30 2 " + command);
    EXPECT_EQ(ran.status, 124) << ran.out << ran.error;
    EXPECT_THAT(processes_with(folder.path().string()), testing::IsEmpty());
  }
}

// A program in place of test-hosts that starts something in a session of its own, as test-hosts does, and then lets
// hocket-sgd be interrupted.
TEST(SgdInterrupted, LeavesNothingBehindWhileItMakesTheLinks) {
  const TemporaryFolder folder;
  for (const auto& [name, number] : {std::pair{"INT", SIGINT}, {"TERM", SIGTERM}}) {
    const std::string hosts = folder.file(name);
    std::ofstream(hosts) << "#!/bin/sh\nsetsid sh -c 'while :; do sleep 9; done' " << hosts << " &\nkill -" << name
                         << " $PPID\nwhile :; do sleep 9; done\n";
    std::filesystem::permissions(hosts, std::filesystem::perms::owner_all);
    const Ran ran = run_command("$SGD --prove --test-hosts " + hosts);
    EXPECT_EQ(ran.status, 128 + number) << ran.out << ran.error;
    EXPECT_THAT(ran.error, HasSubstr("stopped by signal " + std::to_string(number)));
    EXPECT_THAT(processes_with(folder.path().string()), testing::IsEmpty());
  }
}

TEST(SgdInterrupted, ADeadRankEndsTheOthers) {
  const Ran ran = run_command(
      "$RUN -n 3 sh -c 'if [ $RANK = 1 ]; then exec timeout -s KILL 1 '$SGD' --epochs 1000000; else "
      "exec '$SGD' --epochs 1000000; fi'");
  EXPECT_NE(ran.status, 0);
  EXPECT_NE(ran.status, 124) << "the others did not end";
}

}  // namespace
}  // namespace hocket
