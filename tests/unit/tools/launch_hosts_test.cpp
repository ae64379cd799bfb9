// Lists of hosts, and which ranks each gets.
#include "tools/launch_hosts.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/process/program.hpp"
#include "tools/launch_job.hpp"

namespace hocket::launch {
namespace {

using testing::HasSubstr;

std::string text_of(const Result<std::vector<Host>>& hosts) {
  if (!hosts) return hosts.status().message();
  std::string text;
  for (const Host& host : *hosts) text += fmt::format("{}={} ", host.name, host.slots);
  return text;
}

std::string shares_of(const std::string& list, int ranks) {
  const auto shares = share_out(*parse_hosts(list), ranks);
  if (!shares) return shares.status().message();
  std::string text;
  for (const Share& share : *shares) text += fmt::format("{}:{}+{} ", share.name, share.first, share.count);
  return text;
}

TEST(LaunchHosts, ReadsLists) {
  EXPECT_EQ(text_of(parse_hosts("a")), "a=0 ");
  EXPECT_EQ(text_of(parse_hosts("a:4,me@b,node-3.example.org:1048576")), "a=4 me@b=0 node-3.example.org=1048576 ");
  EXPECT_EQ(text_of(parse_hosts("fd77::1,[fd77::2]:3,[fd77::3]")), "fd77::1=0 fd77::2=3 fd77::3=0 ");
}

TEST(LaunchHosts, SaysWhatIsWrongWithAList) {
  EXPECT_EQ(text_of(parse_hosts("")), "--hosts: '' names no host.");
  EXPECT_EQ(text_of(parse_hosts("a,,b")), "--hosts: '' names no host.");
  EXPECT_EQ(text_of(parse_hosts(":4")), "--hosts: ':4' names no host.");
  for (const char* slots : {"0", "", "x", "-1", "4x", "1048577", "99999999999"}) {
    EXPECT_THAT(text_of(parse_hosts(fmt::format("a:{}", slots))),
                HasSubstr("has no number of ranks from 1 to 1048576"));
  }
  EXPECT_EQ(text_of(parse_hosts("-oProxyCommand=x")), "--hosts: '-oProxyCommand=x' is not the name of a host.");
  EXPECT_EQ(text_of(parse_hosts("a b")), "--hosts: 'a b' is not the name of a host.");
  EXPECT_EQ(text_of(parse_hosts("a;b")), "--hosts: 'a;b' is not the name of a host.");
  EXPECT_EQ(text_of(parse_hosts("a,b,a:2")), "--hosts: the host 'a' is there twice; write it once, as in a:2.");
  EXPECT_EQ(text_of(parse_hosts("[::1]4")), "--hosts: '[::1]4' is not a host, nor host:ranks.");
}

TEST(LaunchHosts, ReadsFiles) {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& text) {
    std::ofstream(folder.file("hosts")) << text;
    return text_of(read_hosts(folder.file("hosts")));
  };
  EXPECT_EQ(read("# all\n\na slots=4 # four\n\tb:2\r\nc"), "a=4 b=2 c=0 ");
  EXPECT_THAT(read("a\nb cores=4\n"), HasSubstr("line 2: 'cores=4' is not slots=N."));
  EXPECT_THAT(read("a:2 slots=4\n"), HasSubstr("line 1: the number of ranks is there twice."));
  EXPECT_THAT(read("a slots=none\n"), HasSubstr("line 1: 'slots=none' has no number of ranks"));
  EXPECT_THAT(read("a\na\n"), HasSubstr("line 2: the host 'a' is there twice"));
  EXPECT_THAT(read("\n# none\n"), HasSubstr("there is no host in"));
  EXPECT_THAT(text_of(read_hosts(folder.file("missing"))), HasSubstr("cannot read"));
}

TEST(LaunchHosts, FillsHostsInTheirOrder) {
  EXPECT_EQ(shares_of("a,b", 8), "a:0+4 b:4+4 ");
  EXPECT_EQ(shares_of("a,b,c", 8), "a:0+3 b:3+3 c:6+2 ");
  EXPECT_EQ(shares_of("a,b,c", 2), "a:0+1 b:1+1 ");
  EXPECT_EQ(shares_of("a:4,b:4", 6), "a:0+4 b:4+2 ");
  EXPECT_EQ(shares_of("a:4,b:4", 3), "a:0+3 ");
  EXPECT_EQ(shares_of("a:4,b:2", 0), "a:0+4 b:4+2 ");
  EXPECT_EQ(shares_of("a:4,b,c", 7), "a:0+4 b:4+2 c:6+1 ");
  EXPECT_EQ(shares_of("a:4,b", 3), "a:0+3 ");
}

TEST(LaunchHosts, RefusesRanksThatDoNotFit) {
  EXPECT_EQ(shares_of("a:4,b:4", 9), "9 ranks do not fit: the hosts are for 8. Start fewer, or name more.");
  EXPECT_EQ(shares_of("a:4,b", 0), "--ranks is required where a host has no number, as in a:4.");
  EXPECT_EQ(shares_of("a:1048576,b:1", 0), "The hosts are for 1048577 ranks: too many.");
}

TEST(LaunchHosts, SplitsCommandsAsTheShellDoes) {
  EXPECT_EQ(*split_command("ssh -p 22 -i 'a key'"), (std::vector<std::string>{"ssh", "-p", "22", "-i", "a key"}));
  EXPECT_FALSE(split_command(""));
  EXPECT_FALSE(split_command("ssh $(reboot)"));
  EXPECT_FALSE(split_command("ssh 'open"));
}

TEST(LaunchJob, KeepsEveryByte) {
  Job job;
  job.place = {.first = 4, .local = 2, .ranks = 9, .master_address = "fd77::1", .master_port = 65535};
  job.command = {"program", "", "two\nlines", "no UTF-8: \xff\xfe"};
  job.variables = {"A=b=c", "B="};
  job.folder = "/a folder";
  job.binding = "core";
  job.labelled = false;
  job.grace = std::chrono::milliseconds(250);
  const auto read = decode(encode(job));
  ASSERT_TRUE(read) << read.status().message();
  EXPECT_EQ(encode(*read), encode(job));
  EXPECT_EQ(read->command, job.command);
  EXPECT_EQ(read->place.master_port, 65535);
  EXPECT_FALSE(decode(encode(job).substr(1)));
  EXPECT_FALSE(decode(""));
}

}  // namespace
}  // namespace hocket::launch
