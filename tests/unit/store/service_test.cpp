#include "src/store/service.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <tuple>
#include <vector>

namespace hocket::store {
namespace {

using wire::Operation;
using Given = std::tuple<ClientId, std::uint64_t, Code, std::string>;

struct ServiceTest : testing::Test {
  std::vector<Given> given;
  Service service{[this](ClientId client, std::uint64_t request, Code code, Dictionary::Value payload) {
    given.emplace_back(client, request, code, payload ? *payload : "");
  }};

  std::vector<Given> take() { return std::exchange(given, {}); }
  void get(ClientId client, std::uint64_t id, std::string_view key) {
    service.handle(client, {.id = id, .operation = Operation::get, .key = key});
  }
  void set(ClientId client, std::uint64_t id, std::string_view key, std::string_view value) {
    service.handle(client, {.id = id, .operation = Operation::set, .key = key, .value = value});
  }
};

TEST_F(ServiceTest, WaitingGetsAreAnsweredWhenTheKeyIsSet) {
  get(1, 10, "key");
  get(2, 20, "key");
  get(2, 21, "other");
  EXPECT_TRUE(take().empty());
  EXPECT_EQ(service.parked(), 3u);
  set(3, 30, "key", "value");
  EXPECT_EQ(take(),
            (std::vector<Given>{{3, 30, Code::ok, ""}, {1, 10, Code::ok, "value"}, {2, 20, Code::ok, "value"}}));
  EXPECT_EQ(service.parked(), 1u);
  set(3, 31, "key", "again");
  EXPECT_EQ(take(), (std::vector<Given>{{3, 31, Code::ok, ""}}));
}

TEST_F(ServiceTest, ClaimedKeysLeaveWithTheirClient) {
  const auto claim = [&](ClientId client, std::string_view key, std::optional<std::string_view> expected) {
    service.handle(client, {.id = 1, .operation = Operation::claim, .key = key, .value = "v", .expected = expected});
  };
  const auto keys = [&] {
    service.handle(9, {.id = 1, .operation = Operation::list});
    std::vector<std::string> found;
    EXPECT_TRUE(wire::parse_page(std::get<3>(given.back()), found).ok());
    return found;
  };
  claim(1, "kept", std::nullopt);
  claim(1, "passed on", std::nullopt);
  claim(1, "made anew", std::nullopt);
  claim(2, "kept", std::nullopt);  // in vain
  claim(2, "passed on", "v");      // now it is client 2's
  service.handle(3, {.id = 1, .operation = Operation::remove, .key = "made anew"});
  set(3, 2, "made anew", "by another");
  service.leave(1);
  EXPECT_EQ(keys(), (std::vector<std::string>{"made anew", "passed on"}));
  service.leave(2);
  EXPECT_EQ(keys(), std::vector<std::string>{"made anew"});
}

TEST_F(ServiceTest, KeysAreCountedForThoseWhoWaitForThem) {
  const auto wait = [&](ClientId client, std::uint64_t id, std::string_view prefix, std::int64_t count) {
    service.handle(client, {.id = id, .operation = Operation::wait_for_keys, .key = prefix, .delta = count});
  };
  set(9, 1, "a/1", "");
  (void)take();
  wait(1, 10, "a/", 3);
  wait(2, 20, "a/", 1);
  wait(3, 30, "", 3);
  EXPECT_EQ(take(), (std::vector<Given>{{2, 20, Code::ok, ""}}));
  set(9, 2, "a/2", "");
  set(9, 3, "a/2", "again");
  service.handle(9, {.id = 4, .operation = Operation::remove, .key = "a/1"});
  (void)take();
  EXPECT_EQ(service.parked(), 2u);
  service.handle(9, {.id = 5, .operation = Operation::add, .key = "b", .delta = 1});
  service.handle(3, {.id = 30, .operation = Operation::cancel});
  service.handle(9, {.id = 6, .operation = Operation::compare_and_set, .key = "a/3", .value = "x"});
  (void)take();
  service.handle(9, {.id = 7, .operation = Operation::claim, .key = "a/4", .value = "x"});
  EXPECT_EQ(take(), (std::vector<Given>{{9, 7, Code::not_found, ""}, {1, 10, Code::ok, ""}}));
  wait(1, 11, "a/", 9);
  service.leave(1);
  EXPECT_EQ(service.parked(), 0u);
}

TEST_F(ServiceTest, ManyAnswersShareOneValue) {
  std::vector<Dictionary::Value> values;
  Service sharing([&](ClientId, std::uint64_t, Code, Dictionary::Value payload) { values.push_back(payload); });
  for (ClientId client = 1; client <= 3; ++client) {
    sharing.handle(client, {.id = 1, .operation = Operation::get, .key = "key"});
  }
  sharing.handle(9, {.id = 1, .operation = Operation::set, .key = "key", .value = "value"});
  ASSERT_EQ(values.size(), 4u);
  EXPECT_EQ(values[1].get(), values[2].get());
  EXPECT_EQ(values[1].get(), values[3].get());
}

TEST_F(ServiceTest, LeavingForgetsAllWaitsOfAClient) {
  get(1, 10, "a");
  get(1, 11, "b");
  get(2, 20, "a");
  service.leave(1);
  service.leave(7);
  EXPECT_EQ(service.parked(), 1u);
  set(3, 30, "b", "x");
  set(3, 31, "a", "y");
  EXPECT_EQ(take(), (std::vector<Given>{{3, 30, Code::ok, ""}, {3, 31, Code::ok, ""}, {2, 20, Code::ok, "y"}}));
  EXPECT_EQ(service.parked(), 0u);
}

TEST_F(ServiceTest, CancelForgetsOneWait) {
  get(1, 10, "a");
  get(1, 11, "a");
  service.handle(1, {.id = 10, .operation = Operation::cancel});
  service.handle(1, {.id = 99, .operation = Operation::cancel});
  service.handle(2, {.id = 11, .operation = Operation::cancel});  // another client's
  set(3, 30, "a", "x");
  EXPECT_EQ(take(), (std::vector<Given>{{3, 30, Code::ok, ""}, {1, 11, Code::ok, "x"}}));
}

TEST_F(ServiceTest, FailedChangesWakeNobody) {
  get(1, 10, "a");
  service.handle(2, {.id = 1, .operation = Operation::compare_and_set, .key = "a", .value = "x", .expected = "old"});
  service.handle(2, {.id = 2, .operation = Operation::remove, .key = "a"});
  EXPECT_EQ(take(), (std::vector<Given>{{2, 1, Code::not_found, ""}, {2, 2, Code::not_found, ""}}));
  EXPECT_EQ(service.parked(), 1u);
}

TEST_F(ServiceTest, TooManyWaitsOfOneClientAreRefused) {
  for (std::uint64_t id = 0; id < Service::parked_by_client_max; ++id) get(1, id, "a");
  EXPECT_TRUE(take().empty());
  get(1, 1'000'000, "a");
  get(2, 1, "a");
  ASSERT_EQ(given.size(), 1u);
  EXPECT_EQ(std::get<2>(given[0]), Code::out_of_resources);
}

TEST_F(ServiceTest, OneIdForTwoWaitsIsRefused) {
  get(1, 10, "a");
  get(1, 10, "b");
  ASSERT_EQ(given.size(), 1u);
  EXPECT_EQ(std::get<2>(given[0]), Code::protocol_error);
  EXPECT_EQ(service.parked(), 1u);
}

TEST_F(ServiceTest, ListComesInPages) {
  std::vector<std::string> keys;
  for (int i = 0; i < 600; ++i) keys.push_back(fmt::format("{}{:x<900}", 1000 + i, ""));
  for (const std::string& key : keys) set(1, 1, key, "");
  take();
  std::vector<std::string> listed;
  for (int pages = 1;; ++pages) {
    service.handle(1, {.id = 2, .operation = Operation::list, .value = listed.empty() ? "" : listed.back()});
    const std::string payload = std::get<3>(take().at(0));
    EXPECT_LE(payload.size(), wire::response_bytes_max);
    if (!wire::parse_page(payload, listed).value()) {
      EXPECT_EQ(pages, 3);
      break;
    }
  }
  EXPECT_TRUE(listed == keys);
}

}  // namespace
}  // namespace hocket::store
