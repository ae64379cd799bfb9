// Strangers at the store that rank 0 serves.
#include <sys/resource.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/unit/store/raw_client.hpp"

namespace hocket::process_testing {
namespace {

// They greet, and then want nothing; there are more of them than rank 0 may have descriptors.
TEST(StoreStrangers, DoNotKeepRanksFromMeeting) {
  ProcessGroup group(3, [](Child& child) {
    if (child.index == 0) {
      const rlimit few{256, 256};
      ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
      child.say(std::getenv("MASTER_PORT"));
    } else {
      EXPECT_EQ(child.hear(), "come");
    }
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.timeout_ms = 30'000;
    const Comm comm(&options);
    ASSERT_TRUE(comm) << hocket_last_error();
    Call({.count = 100}, child.index, 3).run(comm.get());
  });
  const auto port = static_cast<std::uint16_t>(std::stoi("0" + group.hear(0)));
  std::vector<std::unique_ptr<store::RawClient>> strangers;
  while (strangers.size() < 300) {
    auto stranger = std::make_unique<store::RawClient>(port);
    if (!stranger->connected()) continue;  // rank 0 does not listen yet
    stranger->send(store::wire::encode_greeting(store::wire::client_magic, {}));
    strangers.push_back(std::move(stranger));
  }
  group.tell(1, "come");
  group.tell(2, "come");
  group.expect_success();
}

}  // namespace
}  // namespace hocket::process_testing
