// Real ranks that write records, and what hocket-doctor says of them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/process/program.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {

class Doctor : public ::testing::TestWithParam<std::string> {
 protected:
  // One that writes its records to the folder, and whose calls wait for a second at most.
  struct Member {
    explicit Member(const std::string& transport) {
      hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
      options.transport = transport.c_str();
      comm.emplace(&options);
      call.timeout_ms = 1000;
    }
    hocket_result allreduce(std::size_t count = 4) {
      return hocket_allreduce(values.data(), values.data(), count, HOCKET_INT32, HOCKET_SUM, comm->get(), &call,
                              nullptr);
    }
    hocket_result recv(int peer) {
      return hocket_recv(values.data(), 4, HOCKET_INT32, peer, comm->get(), &call, nullptr);
    }
    void allreduces(int times) {
      for (int i = 0; i < times; ++i) ASSERT_EQ(allreduce(), HOCKET_OK);
    }

    std::optional<Comm> comm;
    hocket_call_options call = HOCKET_CALL_OPTIONS_INIT;
    std::vector<int> values = std::vector<int>(1000, 1);
  };
  using Body = std::function<void(Child&, Member&)>;

  ProcessGroup::Body with_records(const Body& body) const {
    return [this, body](Child& child) {
      ::setenv("HOCKET_RECORD_DIR", folder_.path().c_str(), 1);
      Member member(GetParam());
      ASSERT_TRUE(*member.comm);
      body(child, member);
    };
  }
  // What all ranks do; they stay until all are done.
  void run(int size, const Body& body) const {
    ProcessGroup group(size, with_records([&](Child& child, Member& member) {
                         body(child, member);
                         child.say("done");
                         (void)child.hear();
                       }));
    group.hear_from_all("done");
    for (int index = 0; index < size; ++index) group.tell(index, "leave");
    group.expect_success();
  }

  nlohmann::json ask(const std::string& options = "--json") const {
    const Ran ran =
        run_command("'" + program_path("hocket-doctor") + "' " + options + " '" + folder_.path().string() + "'");
    EXPECT_THAT(ran.status, ::testing::AnyOf(0, 1)) << ran.error;
    return nlohmann::json::parse(ran.out, nullptr, false);
  }
  void expect(const std::string& kind, int rank, const std::string& words) const {
    const nlohmann::json said = ask();
    ASSERT_TRUE(said.is_array() && said.size() == 1) << said;
    EXPECT_EQ(said[0]["kind"], kind) << said;
    EXPECT_EQ(said[0]["rank"], rank) << said;
    EXPECT_THAT(said[0]["sentence"].get<std::string>(), ::testing::HasSubstr(words));
  }

  // Of three ranks. One of the others may have learned of the mismatch before its own call; then it is one against one.
  void expect_another_call(int rank, int number, const std::string& words) const {
    const nlohmann::json said = ask();
    ASSERT_TRUE(said.is_array() && said.size() == 1) << said;
    EXPECT_EQ(said[0]["kind"], "another call") << said;
    const auto sentence = said[0]["sentence"].get<std::string>();
    EXPECT_THAT(sentence,
                ::testing::HasSubstr("Call number " + std::to_string(number) + " was not the same on all ranks"));
    EXPECT_THAT(sentence, ::testing::HasSubstr("rank " + std::to_string(rank) + " called " + words));
    const bool all_called = sentence.find("ranks ", sentence.find(':')) != std::string::npos;
    if (all_called) {
      EXPECT_EQ(said[0]["rank"], rank) << said;
    }
  }

  std::string some_record() const { return std::filesystem::directory_iterator(folder_.path())->path().string(); }

  const TemporaryFolder folder_;
};

}  // namespace hocket::process_testing
