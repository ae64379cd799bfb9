// What an environment or options say wrong, which creation names before it looks for anybody.
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

struct BadEnvironment {
  const char* name;
  std::vector<std::pair<const char*, const char*>> variables;  // null: unset
  std::vector<const char*> in_message;
};

TEST(Environment, ThatIsWrongIsNamed) {
  const std::string long_name(257, 'h');
  const std::vector<BadEnvironment> all = {
      {"rank is no number", {{"RANK", "abc"}}, {"RANK", "abc"}},
      {"rank has a tail", {{"RANK", "1x"}}, {"RANK", "1x"}},
      {"rank is outside", {{"RANK", "9"}, {"WORLD_SIZE", "4"}}, {"RANK", "9"}},
      {"rank is negative", {{"RANK", "-1"}}, {"RANK", "-1"}},
      {"size is zero", {{"WORLD_SIZE", "0"}}, {"WORLD_SIZE", "0"}},
      {"size is huge", {{"WORLD_SIZE", "99999999999999999999"}}, {"WORLD_SIZE"}},
      {"no rank", {{"RANK", nullptr}}, {"RANK"}},
      {"no environment",
       {{"RANK", nullptr}, {"WORLD_SIZE", nullptr}, {"MASTER_ADDR", nullptr}, {"MASTER_PORT", nullptr}},
       {"RANK", "WORLD_SIZE"}},
      {"no store", {{"MASTER_PORT", nullptr}}, {"MASTER_PORT"}},
      {"port is no number", {{"MASTER_PORT", "http"}}, {"MASTER_PORT", "http"}},
      {"port is outside", {{"MASTER_PORT", "70000"}}, {"MASTER_PORT", "70000"}},
      {"timeout is no number", {{"HOCKET_TIMEOUT_MS", "soon"}}, {"HOCKET_TIMEOUT_MS", "soon"}},
      {"host's name is long", {{"HOCKET_HOST_ID", long_name.c_str()}}, {"HOCKET_HOST_ID", "256"}},
      {"switch is no word of its own", {{"HOCKET_DETERMINISTIC", "maybe"}}, {"HOCKET_DETERMINISTIC", "maybe"}},
  };
  for (const BadEnvironment& bad : all) {
    SCOPED_TRACE(bad.name);
    ProcessGroup group(1, [&](Child&) {
      ::setenv("WORLD_SIZE", "2", 1);
      ::setenv("HOCKET_TIMEOUT_MS", "1000", 1);
      for (const auto& [name, value] : bad.variables) {
        if (value == nullptr) {
          ::unsetenv(name);
        } else {
          ::setenv(name, value, 1);
        }
      }
      expect_result(create_in_vain(), HOCKET_INVALID_ENVIRONMENT);
      for (const char* text : bad.in_message) expect_message_names(text);
    });
    group.expect_success();
  }
}

TEST(Environment, NamesOfThingsThatDoNotExist) {
  for (const char* variable : {"HOCKET_ALGORITHM", "HOCKET_TRANSPORT"}) {
    run_ranks(1, [&](Child&) {
      ::setenv(variable, "warp_drive", 1);
      expect_result(create_in_vain(), HOCKET_NOT_FOUND);
      expect_message_names("warp_drive");
      expect_message_names(variable);
    });
  }
}

TEST(Options, ThatAreWrongAreNamed) {
  run_ranks(1, [](Child&) {
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.world_size = 4;
    options.rank = 4;
    expect_result(create_in_vain(&options), HOCKET_INVALID_ARGUMENT);
    expect_message_names("rank");
    options = HOCKET_COMM_OPTIONS_INIT;
    options.world_size = -2;
    expect_result(create_in_vain(&options), HOCKET_INVALID_ARGUMENT);
    expect_message_names("world_size");
    options = HOCKET_COMM_OPTIONS_INIT;
    options.timeout_ms = -1;
    expect_result(create_in_vain(&options), HOCKET_INVALID_ARGUMENT);
    expect_message_names("timeout_ms");
    options = {};
    expect_result(create_in_vain(&options), HOCKET_INVALID_ARGUMENT);
    expect_message_names("struct_size");
  });
}

}  // namespace
}  // namespace hocket::process_testing
