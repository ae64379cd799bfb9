// Networks that people describe, and their mistakes.
#include "tools/plan/network_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string mistake(std::string_view text, Rank ranks = 0) {
  const auto result = read_network(text, "net.json", ranks);
  EXPECT_FALSE(result.ok()) << "the mistake was not found";
  if (result.ok()) return {};
  EXPECT_EQ(result.status().code(), Code::invalid_argument);
  return result.status().message();
}

TEST(NetworkFile, ReadsAllThatItSays) {
  const auto network = read_network(R"({
    "topology": "hosts", "hosts": 3, "ranks_per_host": 4, "cores_per_host": 2,
    "link": {"latency_us": 20, "send_us": 2, "receive_us": 3, "send_ns_per_byte": 0.5, "bytes_per_second": 1e9},
    "local": {"latency_us": 1},
    "copy_ns_per_byte": 0.1, "reduce_ns_per_byte": 0.2,
    "slow": [{"rank": 3, "factor": 2}, {"from": 0, "to": 4, "factor": 10}]
  })",
                                    "net.json", 0);
  ASSERT_TRUE(network.ok()) << network.status().message();
  EXPECT_EQ(network->size(), 12);
  EXPECT_EQ(network->hosts(), 3);
  EXPECT_EQ(network->cores_per_host(), 2);
  EXPECT_DOUBLE_EQ(network->description().link.latency, 20e-6);
  EXPECT_DOUBLE_EQ(network->description().link.wire_per_byte, 1e-9);
  EXPECT_DOUBLE_EQ(network->slowness_of(3), 2);
  EXPECT_DOUBLE_EQ(network->slowness_of(4), 1);
  Network::Route slow, usual;
  network->find_route(0, 4, slow);
  network->find_route(0, 5, usual);
  EXPECT_EQ(slow.latency, 10 * usual.latency);
}

TEST(NetworkFile, TakesTheNumberOfRanksFromTheCaller) {
  const auto network = read_network(R"({"topology": "fat_tree", "ranks_per_leaf": 4})", "net.json", 10);
  ASSERT_TRUE(network.ok()) << network.status().message();
  EXPECT_EQ(network->size(), 10);
  EXPECT_THAT(mistake(R"({"topology": "torus", "rows": 2, "columns": 3})", 8), HasSubstr("6 ranks, but 8 are wanted"));
  EXPECT_THAT(mistake(R"({"topology": "flat"})"), HasSubstr("ranks is missing"));
}

TEST(NetworkFile, SharesRanksOutToHosts) {
  const auto network = read_network(R"({"topology": "hosts", "hosts": 2, "local": {"wake_us": 3}})", "net.json", 7);
  ASSERT_TRUE(network.ok()) << network.status().message();
  EXPECT_EQ(network->size(), 7);
  EXPECT_EQ(network->hosts(), 2);
  EXPECT_EQ(network->description().ranks_per_host, 4);
  EXPECT_DOUBLE_EQ(network->description().local.wake, 3e-6);
  EXPECT_EQ(read_network(R"({"topology": "hosts", "hosts": 3})", "net.json", 0)->size(), 3);
}

TEST(NetworkFile, IsReadAsItIsWritten) {
  NetworkDescription written;
  written.cores_per_host = 2;
  written.link = {.latency = 5e-6, .send = 3e-6, .receive = 2e-6, .send_per_byte = 2e-10, .receive_per_byte = 1e-10};
  written.local = {.latency = 1e-7, .wire_per_byte = 1e-10};
  written.copy_per_byte = 1e-10;
  written.reduce_per_byte = 2e-10;
  written.link.wake = 4e-6;
  written.direct = DirectCost{.call = 2e-7,
                              .line = 3e-8,
                              .flag = 4e-8,
                              .wake = 1e-6,
                              .copy_per_byte = 3e-11,
                              .reduce_per_byte = 4e-11,
                              .far_copy_per_byte = 1e-10,
                              .far_reduce_per_byte = 2e-10,
                              .cache_bytes = 2e6,
                              .read = 7e-7,
                              .read_per_byte = 5e-11,
                              .reads_plain_memory = false};
  const auto network = read_network(write_network(written, 2, {"a note"}), "net.json", 4);
  ASSERT_TRUE(network.ok()) << network.status().message();
  const NetworkDescription& read = network->description();
  EXPECT_EQ(network->hosts(), 2);
  EXPECT_EQ(read.cores_per_host, 2);
  EXPECT_NEAR(read.link.latency, 5e-6, 1e-11);
  EXPECT_NEAR(read.link.send, 3e-6, 1e-11);
  EXPECT_NEAR(read.link.receive, 2e-6, 1e-11);
  EXPECT_NEAR(read.link.send_per_byte, 2e-10, 1e-14);
  EXPECT_NEAR(read.link.receive_per_byte, 1e-10, 1e-14);
  EXPECT_LT(read.link.wire_per_byte, 1e-14);
  EXPECT_NEAR(read.local.wire_per_byte, 1e-10, 1e-14);
  EXPECT_NEAR(read.copy_per_byte, 1e-10, 1e-14);
  EXPECT_NEAR(read.reduce_per_byte, 2e-10, 1e-14);
  EXPECT_NEAR(read.link.wake, 4e-6, 1e-11);
  ASSERT_TRUE(read.direct.has_value());
  EXPECT_NEAR(read.direct->call, 2e-7, 1e-11);
  EXPECT_NEAR(read.direct->line, 3e-8, 1e-11);
  EXPECT_NEAR(read.direct->flag, 4e-8, 1e-11);
  EXPECT_NEAR(read.direct->wake, 1e-6, 1e-11);
  EXPECT_NEAR(read.direct->copy_per_byte, 3e-11, 1e-14);
  EXPECT_NEAR(read.direct->reduce_per_byte, 4e-11, 1e-14);
  EXPECT_NEAR(read.direct->far_copy_per_byte, 1e-10, 1e-14);
  EXPECT_NEAR(read.direct->far_reduce_per_byte, 2e-10, 1e-14);
  EXPECT_DOUBLE_EQ(read.direct->cache_bytes, 2e6);
  EXPECT_NEAR(read.direct->read, 7e-7, 1e-11);
  EXPECT_NEAR(read.direct->read_per_byte, 5e-11, 1e-14);
  EXPECT_FALSE(read.direct->reads_plain_memory);
  const auto tcp = over_tcp(*network);
  ASSERT_TRUE(tcp.ok());
  EXPECT_DOUBLE_EQ(tcp->description().local.latency, read.link.latency);
  EXPECT_FALSE(tcp->description().direct.has_value());
}

TEST(NetworkFile, NamesLineAndField) {
  EXPECT_THAT(mistake("{\n  \"topology\": \"flat\",\n  \"ranks\": \"many\"\n}"),
              AllOf(HasSubstr("net.json, line 3: ranks"), HasSubstr("whole number")));
  EXPECT_THAT(mistake("{\n  \"topology\": \"star\"}"), HasSubstr("line 2: topology is not one of flat, hosts"));
  EXPECT_THAT(mistake("{\n  \"topology\": \"flat\",\n  \"ranks\": 4,\n  \"rows\": 2\n}"),
              HasSubstr("line 4: rows is not a field"));
  EXPECT_THAT(mistake("{\n\"topology\": \"flat\", \"ranks\": 4,\n\"link\": {\n\"bytes_per_second\": 0}}"),
              HasSubstr("line 4: link.bytes_per_second is not above 0"));
  EXPECT_THAT(mistake("{\n\"topology\": \"flat\", \"ranks\": 4,\n\"link\": {\n\"latency_us\": -1}}"),
              HasSubstr("line 3: link.latency"));
  EXPECT_THAT(mistake("{\"topology\": \"flat\", \"ranks\": 4, \"slow\": [\n{\"rank\": 1, \"factor\": 2},\n"
                      "{\"rank\": 4, \"factor\": 2}]}"),
              HasSubstr("line 3: slow[1]"));
  EXPECT_THAT(mistake("{\"topology\": \"flat\",\n\"ranks\": }"), AllOf(HasSubstr("no JSON"), HasSubstr("line 2")));
  EXPECT_THAT(mistake("{\"topology\": \"hosts\", \"ranks\": 4,\n\"direct\": {\n\"flag_us\": \"short\"}}"),
              HasSubstr("line 3: direct.flag_us is not a number"));
  EXPECT_THAT(mistake("{\"topology\": \"hosts\", \"ranks\": 4,\n\"direct\": {\n\"reads_plain_memory\": 1}}"),
              HasSubstr("line 3: direct.reads_plain_memory is neither true nor false"));
  EXPECT_THAT(mistake("{\"topology\": \"hosts\", \"ranks\": 4,\n\"direct\": {\n\"flags_us\": 1}}"),
              HasSubstr("line 3: direct.flags_us is not a field; there are call_us, line_us"));
  EXPECT_THAT(mistake("{\"topology\": \"hosts\", \"ranks\": 4,\n\"direct\": {\"read_us\": -1}}"),
              HasSubstr("line 2: direct.read"));
  EXPECT_THAT(mistake("[1]"), HasSubstr("holds no object"));
  EXPECT_THAT(mistake("\"flat\""), HasSubstr("holds no object"));
  EXPECT_THAT(mistake("{\"topology\": \"flat\", \"ranks\": 1e999}"), HasSubstr("a number that is too large"));
  EXPECT_THAT(mistake("{\"topology\": \"flat\", \"ranks\": 1048577}"), HasSubstr("from 0 to 1048576"));
  EXPECT_THAT(mistake("{\"topology\": \"torus\", \"rows\": 65536, \"columns\": 65536}"),
              HasSubstr("4294967296 ranks, but there are at most 1048576"));
}

TEST(NetworkFile, AFieldStandsOnce) {
  EXPECT_THAT(mistake("{\"topology\": \"flat\",\n\"ranks\": 4,\n\"ranks\": 5}"),
              HasSubstr("net.json, line 3: ranks appears twice"));
  EXPECT_THAT(mistake("{\"topology\": \"flat\", \"ranks\": 4,\n\"link\": {\"wake_us\": 1,\n\n\"wake_us\": 1}}"),
              HasSubstr("line 4: wake_us appears twice"));
  // The same name in several objects is none.
  EXPECT_TRUE(read_network(R"({"topology": "hosts", "hosts": 2, "link": {"wake_us": 1}, "local": {"wake_us": 1},
                               "slow": [{"rank": 0, "factor": 2}, {"rank": 1, "factor": 2}]})",
                           "net.json", 2)
                  .ok());
}

TEST(NetworkFile, ATorusNeedsTwoOfItsThreeNumbers) {
  for (const char* text : {R"({"topology": "torus", "rows": 2, "ranks": 6})", R"({"topology": "torus", "rows": 2})",
                           R"({"topology": "torus", "columns": 3})"}) {
    const auto network = read_network(text, "net.json", 6);
    ASSERT_TRUE(network.ok()) << network.status().message();
    EXPECT_EQ(network->description().rows, 2) << text;
    EXPECT_EQ(network->description().columns, 3) << text;
  }
  EXPECT_THAT(mistake(R"({"topology": "torus", "rows": 2})"), HasSubstr("columns is missing"));
  EXPECT_THAT(mistake(R"({"topology": "torus", "columns": 2})"), HasSubstr("rows is missing"));
  EXPECT_THAT(mistake(R"({"topology": "torus"})", 4), HasSubstr("rows is missing"));
  EXPECT_THAT(mistake(R"({"topology": "torus", "rows": 2})", 7), HasSubstr("6 ranks, but 7 are wanted"));
}

TEST(NetworkFile, WordsNeedNoFile) {
  EXPECT_EQ(open_network("flat", 7, 0)->size(), 7);
  const auto hosts = open_network("8x4", 0, 2);
  ASSERT_TRUE(hosts.ok()) << hosts.status().message();
  EXPECT_EQ(hosts->hosts(), 8);
  EXPECT_EQ(hosts->cores_per_host(), 2);
  EXPECT_THAT(open_network("flat", 0, 0).status().message(), HasSubstr("--ranks is required"));
  EXPECT_THAT(open_network("8x4", 33, 0).status().message(), HasSubstr("has 32 ranks, but --ranks says 33"));
  EXPECT_THAT(open_network("0x4", 0, 0).status().message(), HasSubstr("0x4: HOSTS is 0"));
  EXPECT_THAT(open_network("4x0", 0, 0).status().message(), HasSubstr("4x0: RANKS is 0"));
  EXPECT_THAT(open_network("1048576x2", 0, 0).status().message(),
              HasSubstr("has 2097152 ranks, but there are at most 1048576"));
  EXPECT_THAT(open_network(testing::TempDir(), 0, 0).status().message(), HasSubstr("is a folder"));
  EXPECT_THAT(open_network("8x", 0, 0).status().message(), HasSubstr("is not HOSTSxRANKS"));
  EXPECT_EQ(open_network("nothing.json", 0, 0).status().code(), Code::not_found);
}

// Found by fuzzing: the place of the mistake was looked for at an index that is none.
TEST(NetworkFile, FindsTheLineOfAFieldWhoseNameHasBrackets) {
  for (const char* name :
       {"ranks_per[host", "link[]", "slow[x]", "slow[99999999999999999999]", "slow[18446744073709551615]"}) {
    EXPECT_THAT(mistake(std::string(R"({"topology": "hosts", "hosts": 1,)") + "\n\"" + name + "\": 8}"),
                AllOf(HasSubstr("line 2"), HasSubstr("is not a field")));
  }
}

}  // namespace
}  // namespace hocket
