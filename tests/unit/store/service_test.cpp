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

TEST_F(ServiceTest, BequestsAreSetWhenAClaimEndsWithItsClient) {
  const auto claim = [&](ClientId client, std::string_view key, std::string_view heir, std::string_view bequest,
                         std::optional<std::string_view> expected = std::nullopt) {
    service.handle(client, {.id = 1,
                            .operation = Operation::claim,
                            .key = key,
                            .value = "v",
                            .expected = expected,
                            .bequest = {.key = heir, .value = bequest}});
  };
  const auto value = [&](std::string_view key) {
    const auto found = service.dictionary().find(key);
    return *found ? std::string(**found) : "absent";
  };
  claim(1, "place/1", "outcome", "1 is gone");
  claim(2, "place/2", "outcome", "2 is gone");
  claim(3, "place/3", "given up", "3 is gone");
  claim(3, "place/4", "passed on", "3 is gone");
  claim(4, "place/4", "", "", "v");  // now it is client 4's, who bequeaths nothing
  service.handle(5, {.id = 2, .operation = Operation::remove, .key = "place/3"});
  get(6, 60, "outcome");
  (void)take();
  service.leave(2);
  EXPECT_EQ(take(), (std::vector<Given>{{6, 60, Code::ok, "2 is gone"}})) << "whoever waits hears at once";
  for (const ClientId client : {1, 3, 4}) service.leave(client);
  EXPECT_EQ(value("outcome"), "2 is gone") << "the first one counts";
  EXPECT_EQ(value("given up"), "absent");
  EXPECT_EQ(value("passed on"), "absent");
}

TEST_F(ServiceTest, NothingIsInheritedWhenTheServerEnds) {
  service.handle(1, {.id = 1,
                     .operation = Operation::claim,
                     .key = "place",
                     .value = "v",
                     .bequest = {.key = "outcome", .value = "1 is gone"}});
  service.end();
  service.leave(1);
  EXPECT_EQ(service.dictionary().size(), 0u);
}

TEST_F(ServiceTest, BequestsAreBounded) {
  ServerLimits limits;
  limits.waiting_bytes = 100;
  Service bounded{[this](ClientId client, std::uint64_t request, Code code, Dictionary::Value) {
                    given.emplace_back(client, request, code, "");
                  },
                  limits};
  const auto claim = [&](std::uint64_t id, std::string_view key) {
    bounded.handle(1, {.id = id,
                       .operation = Operation::claim,
                       .key = key,
                       .value = "v",
                       .bequest = {.key = "outcome", .value = std::string(60, 'x')}});
  };
  claim(1, "one");
  claim(2, "two");
  bounded.handle(1, {.id = 3, .operation = Operation::remove, .key = "one"});
  claim(4, "two");
  EXPECT_EQ(take(), (std::vector<Given>{{1, 1, Code::not_found, ""},
                                        {1, 2, Code::out_of_resources, ""},
                                        {1, 3, Code::ok, ""},
                                        {1, 4, Code::not_found, ""}}));
}

// One wants the values of the two others, in the meeting "a/" whose outcome is "over".
struct AllgatherTest : ServiceTest {
  void come(ClientId client, std::uint32_t member, std::string_view value, std::string_view outcome = "over") {
    const std::string wanted = wire::encode_wanted({0, 1});
    service.handle(
        client,
        {.id = client * 10,
         .operation = Operation::allgather,
         .key = "a/",
         .value = value,
         .meeting = {.members = 3, .member = member, .outcome = outcome, .complete = "all there", .wanted = wanted}});
  }
  static Given told(ClientId client, const Allgathered& all) {
    return {client, client * 10, Code::ok, wire::encode_gathered(all)};
  }
  bool has(std::string_view key) { return *service.dictionary().find(key) != nullptr; }
};

TEST_F(AllgatherTest, AnswersAllWhenTheLastHasCome) {
  set(9, 1, "a/2", "somebody's, which member 2 puts away");
  (void)take();
  come(1, 1, "one");
  come(3, 2, "two");
  EXPECT_TRUE(take().empty());
  EXPECT_EQ(service.parked(), 2u);
  come(2, 0, "zero");
  const Allgathered all{.outcome = "all there", .values = {"zero", "one"}};
  EXPECT_EQ(take(), (std::vector<Given>{told(1, all), told(3, all), told(2, all)}));
  EXPECT_EQ(service.parked(), 0u);
  // One that comes again finds the outcome, and what has gone missing meanwhile.
  service.leave(1);
  come(3, 2, "two again");
  EXPECT_EQ(take(), (std::vector<Given>{told(3, {.outcome = "all there", .values = {"zero", std::nullopt}})}));
}

TEST_F(AllgatherTest, DoesNotCountThoseWhoHaveLeft) {
  come(1, 0, "zero");
  come(2, 1, "one");
  service.leave(2);
  EXPECT_FALSE(has("a/1"));
  EXPECT_EQ(service.parked(), 1u);
  come(3, 2, "two");
  EXPECT_TRUE(take().empty());
  come(4, 1, "another one");
  EXPECT_EQ(take().size(), 3u);
  for (const ClientId client : {1, 3, 4}) service.leave(client);
  EXPECT_TRUE(has("over"));
  EXPECT_EQ(service.dictionary().size(), 1u);
}

TEST_F(AllgatherTest, MayBeGivenUpWithoutLeaving) {
  come(1, 0, "zero");
  service.handle(1, {.id = 10, .operation = Operation::cancel});
  EXPECT_EQ(service.parked(), 0u);
  EXPECT_TRUE(has("a/0"));
  come(2, 1, "one");
  come(3, 2, "two");
  EXPECT_EQ(take().size(), 2u);
}

TEST_F(AllgatherTest, EndsWithAnOutcomeThatSomebodySets) {
  come(1, 0, "zero");
  set(9, 1, "over", "it failed");
  EXPECT_EQ(take(), (std::vector<Given>{{9, 1, Code::ok, ""},
                                        told(1, {.outcome = "it failed", .values = {"zero", std::nullopt}})}));
  come(2, 1, "one");
  EXPECT_EQ(take(), (std::vector<Given>{told(2, {.outcome = "it failed", .values = {"zero", "one"}})}));
  EXPECT_EQ(service.parked(), 0u);
}

// Two outcomes for one meeting, of which one is itself a key that is counted.
TEST_F(AllgatherTest, BearsNonsense) {
  come(1, 0, "zero", "a/over");
  come(2, 1, "one", "over");
  come(3, 2, "two", "over");
  EXPECT_EQ(take().size(), 3u);
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
