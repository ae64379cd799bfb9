// The store's server is lost at each request of a creation, and comes back with nothing, or with what it held a while
// ago: the creation goes on, and the next one comes up in that store.
#include <signal.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <tuple>

#include "tests/process/program.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/store_proxy.hpp"

namespace hocket::process_testing {
namespace {

using Moment = StoreProxy::Moment;

constexpr int losses_size = 3;

// Three ranks create a communicator and use it. Whether the loss happened meanwhile.
bool create_with(StoreProxy& proxy, const std::optional<StoreProxy::Loss>& loss) {
  ProcessGroup group(losses_size, [&](Child& child) {
    ::setenv("HOCKET_STORE", proxy.url().c_str(), 1);
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.timeout_ms = 20'000;
    hocket_comm* comm = nullptr;
    const hocket_result result = hocket_comm_create(&comm, &options);
    child.say(result == HOCKET_OK ? "created" : hocket_last_error());
    if (result == HOCKET_OK) Call({.count = 100}, child.index, losses_size).run(comm);
    hocket_comm_destroy(comm);
  });
  const bool lost = proxy.serve(loss, [&] { return group.has_news(0) && group.has_news(1) && group.has_news(2); });
  group.hear_from_all("created");
  group.expect_success();
  return lost;
}

class StoreLosses : public testing::TestWithParam<std::tuple<Moment, bool>> {};

TEST_P(StoreLosses, EndNoCreation) {
  const auto [moment, snapshot] = GetParam();
  const TemporaryFolder folder;
  StoreProxy proxy(std::make_unique<HocketStoreBackend>(
      snapshot ? std::vector<std::string>{"--snapshot", folder.file("snapshot")} : std::vector<std::string>{}));
  bool lost = true;
  for (int request = 0; lost && !HasFailure(); ++request) {
    // A daemon that is killed comes back with what it wrote when it was terminated before.
    const int signal = snapshot && request % 2 == 0 ? SIGTERM : SIGKILL;
    SCOPED_TRACE(fmt::format("request {}, signal {}", request, signal));
    lost = create_with(proxy, StoreProxy::Loss{.request = request, .moment = moment, .signal = signal});
    (void)create_with(proxy, std::nullopt);
    if (!lost) {
      EXPECT_GT(request, 3 * losses_size);
    }
  }
}

// It comes back with nothing.
class RedisLosses : public testing::TestWithParam<Moment> {
 protected:
  void SetUp() override { ::setenv("HOCKET_SECRET", "what the ranks of this job know", 1); }
  void TearDown() override { ::unsetenv("HOCKET_SECRET"); }
};

TEST_P(RedisLosses, EndNoCreation) {
  if (const std::string problem = RedisServer::problem(); !problem.empty()) GTEST_SKIP() << problem;
  StoreProxy proxy(std::make_unique<RedisBackend>());
  bool lost = true;
  for (int request = 0; lost && !HasFailure(); ++request) {
    SCOPED_TRACE(fmt::format("request {}", request));
    lost = create_with(proxy, StoreProxy::Loss{.request = request, .moment = GetParam(), .signal = SIGKILL});
    (void)create_with(proxy, std::nullopt);
    if (!lost) {
      EXPECT_GT(request, 3 * losses_size);
    }
  }
}

std::string store_losses_name_of(const testing::TestParamInfo<std::tuple<Moment, bool>>& parameters) {
  const auto [moment, snapshot] = parameters.param;
  return std::string(moment == Moment::request ? "Request" : "Answer") + (snapshot ? "WithSnapshot" : "");
}
INSTANTIATE_TEST_SUITE_P(Of, StoreLosses,
                         testing::Combine(testing::Values(Moment::request, Moment::answer), testing::Bool()),
                         store_losses_name_of);
INSTANTIATE_TEST_SUITE_P(Of, RedisLosses, testing::Values(Moment::request, Moment::answer), [](const auto& of) {
  return std::string(of.param == Moment::request ? "Request" : "Answer");
});

}  // namespace
}  // namespace hocket::process_testing
