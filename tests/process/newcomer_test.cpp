// What the environment tells newcomers, and what the library makes of it.
#include <cstdlib>

#include "tests/process/support/joining.hpp"

namespace hocket::process_testing {
namespace {

TEST(Newcomer, HasNoRankOfItsOwn) {
  run_ranks(1, [](Child&) {
    ::setenv("HOCKET_NEWCOMER", "on", 1);
    hocket_comm* comm = nullptr;
    expect_result(hocket_comm_create(&comm, nullptr), HOCKET_INVALID_ENVIRONMENT);
    expect_message_names("hocket_comm_join");
    ::setenv("HOCKET_NEWCOMER", "perhaps", 1);
    expect_result(hocket_comm_create(&comm, nullptr), HOCKET_INVALID_ENVIRONMENT);
    expect_message_names("HOCKET_NEWCOMER is \"perhaps\"");
    ::setenv("HOCKET_NEWCOMER", "off", 1);
    expect_result(hocket_comm_create(&comm, nullptr), HOCKET_OK);
    hocket_comm_destroy(comm);
  });
}

TEST(Newcomer, WaitsAtThePointThatTheEnvironmentNames) {
  const WithSharedStore shared(SharedStore::daemon, "auto");
  shared.run(3, [](Child& child) {
    ::setenv("HOCKET_JOINING_POINT", "gate", 1);
    if (child.index == 2) ::setenv("HOCKET_NEWCOMER", "on", 1);
    const auto before = child.index < 2 ? members(child.index, 2) : newcomer();
    hocket_join_options one = newcomers(1);
    if (child.index < 2) one.point = "gate";
    const Comm joined(join(before->get(), one));
    expect_whole(joined.get(), 3, 2);
  });
  shared.run(1, [](Child&) {
    ::setenv("HOCKET_JOINING_POINT", std::string(129, 'x').c_str(), 1);
    EXPECT_EQ(join(nullptr, newcomers(1), HOCKET_INVALID_ENVIRONMENT), nullptr);
    expect_message_names("HOCKET_JOINING_POINT has 129 characters");
  });
}

}  // namespace
}  // namespace hocket::process_testing
