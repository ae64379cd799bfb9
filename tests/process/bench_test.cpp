// hocket-bench as a person runs it, on threads and on processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <vector>

#include "src/spi/types.hpp"
#include "tests/process/program.hpp"

namespace hocket {
namespace {

using nlohmann::json;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

// Runs hocket-bench with --json -, and returns its rows.
std::vector<json> rows_of(const std::string& arguments) {
  const Ran ran = run_command("$BENCH " + arguments + " --json -");
  EXPECT_EQ(ran.status, 0) << arguments << "\n" << ran.error;
  const json document = json::parse(ran.out, nullptr, false);
  if (document.is_discarded()) {
    ADD_FAILURE() << "not JSON: " << ran.out;
    return {};
  }
  return document["rows"].get<std::vector<json>>();
}

struct Sweep {
  const char* collective;
  const char* transport;
  const char* more;      // arguments
  std::size_t per_size;  // rows: types × operations × roots × placements
};

std::string name_of_sweep(const testing::TestParamInfo<Sweep>& info) {
  return std::string(info.param.collective) + "_" + info.param.transport;
}

class BenchSweep : public testing::TestWithParam<Sweep> {};

TEST_P(BenchSweep, EveryElementIsRight) {
  const Sweep& sweep = GetParam();
  // Six sizes, from 0 and one element up in steps of 11 to at most 128 KiB: from nothing, to fewer elements than ranks,
  // to counts that ranks do not divide.
  const std::vector<json> rows = rows_of(std::string(sweep.collective) + " --ranks 3 --transport " + sweep.transport +
                                         " -b 0 -e 128K -f 11 -n 3 -c 2 " + sweep.more);
  const bool has_data = sweep.collective != std::string("barrier");
  for (const json& row : rows) {
    EXPECT_EQ(row["wrong"], 0) << row.dump();
    EXPECT_EQ(row["iterations"], 3);
    EXPECT_EQ(row["collective"], sweep.collective);
    EXPECT_EQ(row["ranks"], 3);
    EXPECT_TRUE(row["bytes"] == 0 || row["bytes_sent_per_rank"] > 0) << row.dump();
  }
  if (has_data) {
    // The first size after 0 is one element of the first type; five steps of 11 in all.
    EXPECT_GE(rows.size(), 5 * sweep.per_size);
    EXPECT_EQ(rows.size() % sweep.per_size, 0u);
  } else {
    EXPECT_EQ(rows.size(), 1u);
  }
}

std::vector<Sweep> all_sweeps() {
  constexpr std::size_t types = data_types - 1;  // opaque elements have no size of their own
  const auto pairs_of = [](std::span<const DataType> dtypes) {
    std::size_t pairs = 0;
    for (const DataType dtype : dtypes) {
      pairs += static_cast<std::size_t>(
          std::ranges::count_if(built_in_reduce_ops, [dtype](ReduceOp op) { return is_defined(dtype, op); }));
    }
    return pairs;
  };
  constexpr DataType some[] = {DataType::int8, DataType::bfloat16, DataType::complex128, DataType::float32_int32};
  std::vector<Sweep> sweeps;
  for (const char* transport : {"loopback", "tcp"}) {
    sweeps.push_back({"allreduce", transport, "-d all -o all", pairs_of(all_data_types) * 2});
    sweeps.push_back(
        {"reduce", transport, "-r all -d int8,bfloat16,complex128,float32_int32 -o all", pairs_of(some) * 3 * 2});
    sweeps.push_back(
        {"reduce_scatter", transport, "-d int8,bfloat16,complex128,float32_int32 -o all", pairs_of(some) * 2});
    sweeps.push_back({"allgather", transport, "-d all", types * 2});
    sweeps.push_back({"broadcast", transport, "-r all -d all", types * 3 * 2});
    sweeps.push_back({"scatter", transport, "-r all -d all", types * 3 * 2});
    sweeps.push_back({"gather", transport, "-r all -d all", types * 3 * 2});
    sweeps.push_back({"alltoall", transport, "-d all", types * 2});
    sweeps.push_back(
        {"scan", transport, "-d int8,bfloat16,complex128,float32_int32 -o sum,prod,maxloc", 3 * 2 * 2 + 2});
    sweeps.push_back({"exscan", transport, "-d int32,float64 -o sum,min,avg", 2 * 2 * 2});
    sweeps.push_back({"sendrecv", transport, "-d all", types});
    sweeps.push_back({"recv_any", transport, "", 1});
    sweeps.push_back({"group", transport, "-d int8,complex128", 2});
    sweeps.push_back({"barrier", transport, "", 1});
    const char* const few = "-d int8,bfloat16,complex128,float32_int32 -o sum,max";
    sweeps.push_back({"reduce_scatter_v", transport, few, 5 * 2});
    sweeps.push_back({"allgather_v", transport, few, 4 * 2});
    sweeps.push_back({"scatter_v", transport, "-r 1 -d int8,complex128", 2 * 2});
    sweeps.push_back({"gather_v", transport, "-r 1 -d int8,complex128", 2 * 2});
    sweeps.push_back({"alltoall_v", transport, "-d int8,complex128", 2 * 2});
  }
  return sweeps;
}
INSTANTIATE_TEST_SUITE_P(All, BenchSweep, testing::ValuesIn(all_sweeps()), name_of_sweep);

TEST(HocketBench, PlansOnceAndStartsForEveryOperation) {
  for (const char* what : {"allreduce -d int8,float64", "gather_v", "sendrecv", "barrier"}) {
    for (const char* transport : {" --transport loopback", " --transport tcp"}) {
      const std::vector<json> rows =
          rows_of(what + std::string(" --ranks 3 -b 0 -e 128K -f 300 -n 5 -c 2 --persistent") + transport);
      EXPECT_FALSE(rows.empty());
      for (const json& row : rows) {
        EXPECT_EQ(row["wrong"], 0) << row.dump();
        EXPECT_EQ(row["persistent"], true);
      }
    }
  }
}

TEST(HocketBench, CutsTheDataIntoLists) {
  for (const char* what : {"allreduce -d int8,float64", "reduce -r 2 --persistent", "broadcast -r 1",
                           "reduce_scatter -d int8,float64 --fresh", "allgather -d int8,float64 --persistent"}) {
    for (const char* transport : {" --transport loopback", " --transport tcp"}) {
      const std::vector<json> rows =
          rows_of(what + std::string(" --ranks 3 -b 0 -e 128K -f 300 -n 5 -c 2 --coalesced 7") + transport);
      EXPECT_FALSE(rows.empty());
      for (const json& row : rows) {
        EXPECT_EQ(row["wrong"], 0) << row.dump();
        EXPECT_EQ(row["tensors"], 7);
      }
    }
  }
  const Ran ran = run_command("$BENCH gather --ranks 2 --coalesced 7");
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(
      ran.error,
      HasSubstr("--coalesced is for allreduce, reduce, reduce_scatter, allgather and broadcast, not for gather."));
}

TEST(HocketBench, WritesTheDocumentedJson) {
  const Ran ran = run_command("$BENCH broadcast --ranks 2 --transport tcp -b 4K -e 4K -n 7 -r 1 -d int32 --json -");
  ASSERT_EQ(ran.status, 0) << ran.error;
  EXPECT_THAT(ran.error, HasSubstr("algbw"));  // the table makes way for the document
  const json document = json::parse(ran.out);
  EXPECT_TRUE(document["version"].is_string());
  EXPECT_TRUE(document["host"].is_object());
  ASSERT_EQ(document["rows"].size(), 2u);
  const json& row = document["rows"][1];
  std::vector<std::string> names;
  for (const auto& [name, value] : row.items()) names.push_back(name);
  EXPECT_THAT(names, UnorderedElementsAre("collective", "ranks", "transport", "algorithm", "wire", "dtype", "op",
                                          "root", "bytes", "count", "placement", "memory", "fresh", "persistent",
                                          "tensors", "iterations", "time_us", "call_us", "memory_GBps", "model_us",
                                          "model_error", "algbw_GBps", "busbw_GBps", "cpu_us_per_op", "steps_per_rank",
                                          "bytes_sent_per_rank", "wrong"));
  EXPECT_EQ(document["rows"][0]["placement"], "out_of_place");
  EXPECT_EQ(row["placement"], "in_place");
  EXPECT_EQ(row["transport"], "tcp");
  EXPECT_EQ(row["algorithm"], "binomial_tree");  // what "auto" came to
  EXPECT_EQ(row["dtype"], "int32");
  EXPECT_EQ(row["op"], "none");
  EXPECT_EQ(row["root"], 1);
  EXPECT_EQ(row["bytes"], 4096);
  EXPECT_EQ(row["count"], 1024);
  EXPECT_EQ(row["memory"], "plain");
  EXPECT_EQ(row["fresh"], false);
  EXPECT_EQ(row["persistent"], false);
  EXPECT_EQ(row["tensors"], 0);
  EXPECT_EQ(row["iterations"], 7);
  const json& time = row["time_us"];
  EXPECT_GT(time["min"], 0);
  EXPECT_LE(time["min"], time["p50"]);
  EXPECT_LE(time["p50"], time["p90"]);
  EXPECT_LE(time["p90"], time["p99"]);
  EXPECT_LE(time["p99"], time["max"]);
  EXPECT_DOUBLE_EQ(row["algbw_GBps"].get<double>(), 4096 / time["mean"].get<double>() / 1000);  // a root runs ahead
  EXPECT_GT(row["cpu_us_per_op"], 0);
}

TEST(HocketBench, ShowsWhatTheModelExpects) {
  const TemporaryFolder folder;
  const std::string file = folder.file("net.json");
  std::ofstream(file) << R"({"topology": "hosts", "hosts": 1, "cores_per_host": 4, "link": {"latency_us": 50,
      "send_us": 0, "receive_us": 0, "send_ns_per_byte": 0, "receive_ns_per_byte": 0, "bytes_per_second": 1e12},
      "direct": {"call_us": 3, "line_us": 5, "flag_us": 7}})";
  const std::string options = " -n 2 -b 64 -e 64 --placement in --model '" + file + "'";
  const Ran ran = run_command("$BENCH allreduce --ranks 2 --transport tcp --algorithm ring --json -" + options);
  ASSERT_EQ(ran.status, 0) << ran.error;
  EXPECT_THAT(ran.error, ContainsRegex("time +model +error +algbw"));
  EXPECT_THAT(ran.error, ContainsRegex("# Model +: median error [0-9]+ % .* over 1 of 1 rows"));
  // Two rounds of one latency each; sums of 64 bytes cost next to nothing.
  EXPECT_NEAR(json::parse(ran.out)["rows"][0]["model_us"].get<double>(), 100, 1);
  const std::vector<json> direct = rows_of("allreduce --ranks 2 --transport shm" + options);
  ASSERT_EQ(direct.size(), 1U);
  EXPECT_EQ(direct[0]["algorithm"], "direct one-shot");
  // A call, a line and what lies beyond it, a flag, one copy of 64 bytes and their sum.
  EXPECT_NEAR(direct[0]["model_us"].get<double>(), 3 + 2 * 5 + 7, 0.1);
  const Ran wrong = run_command("$BENCH barrier --ranks 2 --transport tcp -n 2 --model /no/such/file");
  EXPECT_NE(wrong.status, 0);
  EXPECT_THAT(wrong.error, HasSubstr("/no/such/file"));
}

TEST(HocketBench, ReportsWhatWasReallyUsed) {
  const auto used = [](const std::string& arguments) {
    const std::vector<json> rows = rows_of("allreduce --ranks 3 -n 2 --placement in " + arguments);
    std::vector<std::string> found;
    for (const json& row : rows) {
      found.push_back(row["transport"].get<std::string>() + ", " + row["algorithm"].get<std::string>());
    }
    return found;
  };
  EXPECT_THAT(used("--transport tcp -b 4 -e 4 --algorithm linear"), ElementsAre("tcp, linear"));
  // By how many cores there are.
  EXPECT_THAT(used("--transport loopback -b 4M -e 4M"),
              ElementsAre(testing::AnyOf("loopback, ring", "loopback, binomial_tree")));
  EXPECT_THAT(used("--transport shm -b 4 -e 1M -f 262144 --fresh"),
              ElementsAre("shm, direct one-shot", "shm, direct staged"));
  EXPECT_THAT(used("--transport shm -b 1M -e 1M --memory registered"), ElementsAre("shm, direct mapped"));
  EXPECT_THAT(used("--transport shm -b 1M -e 1M --algorithm ring"), ElementsAre("shm, ring"));
  const Ran ran = run_command("$BENCH allreduce --ranks 2 --transport loopback -b 8 -e 64 -f 2 -n 1");
  EXPECT_THAT(ran.out, HasSubstr("# Moved by             : loopback, recursive_doubling (8 to 64)\n"));
}

TEST(HocketBench, CountsStepsAndBytesOfARing) {
  // 2(N-1) steps, and 2(N-1)/N of the buffer sent, also where operations are timed one by one between barriers.
  for (const char* how : {"--transport tcp", "--transport loopback", "--transport tcp --fresh"}) {
    const std::vector<json> rows =
        rows_of(std::string("allreduce --ranks 4 --algorithm ring -b 64K -e 64K -n 5 ") + how);
    ASSERT_EQ(rows.size(), 2u);
    for (const json& row : rows) {
      EXPECT_EQ(row["steps_per_rank"], 6) << row.dump();
      EXPECT_EQ(row["bytes_sent_per_rank"], 2 * 3 * 65536 / 4) << row.dump();
      EXPECT_DOUBLE_EQ(row["busbw_GBps"].get<double>(), row["algbw_GBps"].get<double>() * 1.5);
    }
  }
}

TEST(HocketBench, RoundsDownToWhatTheRanksDivide) {
  const std::vector<json> rows =
      rows_of("allgather --ranks 3 --transport loopback -b 1000 -e 1000 -n 1 --placement out");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["count"], 83);
  EXPECT_EQ(rows[0]["bytes"], 83 * 3 * 4);
}

TEST(HocketBench, MeasuresForATimeAndAtLeastFiveOperations) {
  const std::vector<json> rows =
      rows_of("allreduce --ranks 2 --transport loopback -b 4 -e 4 --seconds 0 --placement in --fresh");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["iterations"], 5);
  EXPECT_EQ(rows[0]["fresh"], true);
}

TEST(HocketBench, UncheckedResultsAreNotCalledRight) {
  const Ran ran = run_command("$BENCH allreduce --ranks 2 --transport loopback -b 64 -e 64 -n 1 -c 0 --json -");
  EXPECT_EQ(ran.status, 0);
  EXPECT_TRUE(json::parse(ran.out)["rows"][0]["wrong"].is_null());
  EXPECT_THAT(ran.error, HasSubstr("Results were not checked"));
  EXPECT_THAT(ran.error, HasSubstr("N/A"));
}

TEST(HocketBench, PrintsRowsAndCsvWithOneNameForEachValue) {
  const TemporaryFolder folder;
  const Ran ran =
      run_command("$BENCH allreduce --ranks 2 --transport tcp -b 1K -e 4K -f 2 -n 2 --csv " + folder.file("rows.csv"));
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_THAT(ran.out, ContainsRegex("\n +2048 +512 +float32 +sum +-1 +[0-9.]+ +[0-9.]+ +[0-9.]+ +0 "));
  EXPECT_THAT(ran.out, HasSubstr("# Wrong elements       : 0 OK\n"));
  std::istringstream csv(contents(folder.file("rows.csv")));
  std::vector<std::string> lines;
  for (std::string line; std::getline(csv, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 1u + 3 * 2);
  EXPECT_THAT(lines[0], HasSubstr("collective,ranks,transport"));
  EXPECT_THAT(lines[0], HasSubstr(",time_us_p50,"));
  for (const std::string& line : lines) EXPECT_EQ(std::ranges::count(line, ','), std::ranges::count(lines[0], ','));
}

TEST(HocketBench, RunsUnderALauncher) {
  const Ran ran = run_command("$RUN -n 3 --no-label $BENCH reduce_scatter -b 12 -e 12K -f 10 -n 2 -o max");
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_THAT(ran.out, HasSubstr("# hocket-bench"));
  EXPECT_THAT(ran.out, HasSubstr(" on 3 ranks"));
  EXPECT_EQ(ran.out.find("# hocket-bench"), ran.out.rfind("# hocket-bench"));  // only rank 0 speaks
}

}  // namespace
}  // namespace hocket
