// Where calls run and by which algorithm, as a membership alone decides it: no links, no ranks.
#include "src/comm/call_route.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string_view>
#include <vector>

#include "src/plan/algorithm_id.hpp"
#include "src/plan/direct/staging.hpp"

namespace hocket::comm {
namespace {

constexpr Rank routed_size = 4;
std::byte routed_memory[256];
std::size_t counts[routed_size] = {1, 2, 3, 4};

Membership membership(std::string_view algorithms, bool deterministic = false) {
  Options options{.rank = 1, .size = routed_size};
  options.algorithms = *Choices::parse(std::string(algorithms));
  options.deterministic = deterministic;
  PeerInfo info = describe_self(options, {});
  info.host = "one";
  for (int core = 0; core < routed_size; ++core) info.cores.add(core);
  return *Membership::make(options, std::make_shared<const std::vector<PeerInfo>>(routed_size, info));
}

CallArguments call_of(Collective collective) {
  return {.collective = collective,
          .send = routed_memory,
          .recv = routed_memory + 128,
          .count = 4,
          .dtype = HOCKET_FLOAT32};
}

CheckedCall checked(const CallArguments& call) {
  auto made = validate(call, 1, routed_size);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *made;
}

CallRoute route(const CallArguments& call, std::string_view algorithms = "auto", bool has_window = true) {
  return route_of(call, checked(call), membership(algorithms), has_window ? SharedMemory::of_all : SharedMemory::none);
}

void add(void*, const void*, const void*, std::size_t, hocket_dtype, void*) {}

TEST(CallRoute, IsDirectWhereAllRanksShareMemory) {
  for (const Collective collective : {Collective::allreduce, Collective::allgather, Collective::broadcast,
                                      Collective::alltoall, Collective::barrier, Collective::scan}) {
    CallArguments call = call_of(collective);
    if (collective == Collective::broadcast) call.recv = routed_memory;
    EXPECT_EQ(route(call), CallRoute::window) << name_of(collective);
    EXPECT_EQ(route(call, "auto", false), CallRoute::links) << name_of(collective);
  }
}

// With enough ranks there is no room for a large element of each, in whatever collective that cuts blocks for all.
TEST(FitsWindow, WhatHasRoomForAnElement) {
  const DirectSetting setting{.staging_bytes = direct::usual_staging_bytes, .shares_work = true};
  for (const Collective collective : {Collective::allgather, Collective::scatter, Collective::gather,
                                      Collective::alltoall, Collective::allgather_v, Collective::scatter_v}) {
    const bool only_ends_know = collective == Collective::scatter_v;
    CheckedCall call{
        .signature = {.collective = collective, .dtype = DataType::opaque, .opaque_bytes = 4096, .count = 3}};
    if (info_of(collective).has_unequal_blocks()) call.blocks = {std::make_shared<const UnequalBlocks>()};
    EXPECT_TRUE(fits_window(call, setting, 212)) << name_of(collective);
    EXPECT_EQ(fits_window(call, setting, 213), only_ends_know) << name_of(collective);
    call.signature.dtype = DataType::float32;
    EXPECT_TRUE(fits_window(call, setting, 213)) << name_of(collective);
  }
}

TEST(FitsWindow, LargeBlocksOfTwoThatAllKnowGoOverLinks) {
  CheckedCall call{.signature = {.collective = Collective::allgather_v, .dtype = DataType::float32, .count = 1'000'000},
                   .bytes = 4'000'000,
                   .blocks = {std::make_shared<const UnequalBlocks>()}};
  const DirectSetting setting{.staging_bytes = direct::usual_staging_bytes};
  EXPECT_FALSE(fits_window(call, setting, 2));
  EXPECT_TRUE(fits_window(call, setting, 3));
  call.bytes = 400'000;
  EXPECT_TRUE(fits_window(call, setting, 2));
  call.signature.collective = Collective::alltoall_v;
  call.bytes = 0;
  EXPECT_TRUE(fits_window(call, setting, 2));
}

TEST(CallRoute, IsOverTheWindowsOfHostsForSmallDataThatIsExactAndInNoOrder) {
  const auto over_hosts = [](const CallArguments& call, bool deterministic = false) {
    return route_of(call, checked(call), membership("auto", deterministic), SharedMemory::of_hosts);
  };
  CallArguments call = call_of(Collective::allreduce);
  EXPECT_EQ(over_hosts(call), CallRoute::host_windows);
  EXPECT_EQ(over_hosts(call, true), CallRoute::links);
  EXPECT_EQ(over_hosts(call_of(Collective::barrier), true), CallRoute::host_windows);
  EXPECT_EQ(over_hosts(call_of(Collective::allgather)), CallRoute::links);
  EXPECT_EQ(over_hosts(call_of(Collective::scan)), CallRoute::links);
  call.wire = HOCKET_WIRE_BFLOAT16;
  EXPECT_EQ(over_hosts(call), CallRoute::links);
}

TEST(CallRoute, IsOverLinksForWhatNoDirectPathDoes) {
  CallArguments message = call_of(Collective::send);
  message.root = 2;
  EXPECT_EQ(route(message), CallRoute::links);
  CallArguments user = call_of(Collective::allreduce);
  user.op = HOCKET_USER;
  user.function = add;
  EXPECT_EQ(route(user), CallRoute::links);
  user.collective = Collective::scan;
  EXPECT_EQ(route(user), CallRoute::links);
  CallArguments unequal = call_of(Collective::reduce_scatter_v);
  unequal.blocks.recv_counts = counts;
  EXPECT_EQ(route(unequal), CallRoute::window);
  unequal.op = HOCKET_USER;
  unequal.function = add;
  EXPECT_EQ(route(unequal), CallRoute::links);
}

// Whether it is small enough for the window is asked before.
TEST(CallRoute, IsDirectWhereBlocksVary) {
  CallArguments unequal = call_of(Collective::allgather_v);
  unequal.count = counts[1];
  unequal.blocks.recv_counts = counts;
  EXPECT_EQ(route(unequal), CallRoute::window);
  EXPECT_EQ(route(unequal, "auto", false), CallRoute::links);
  EXPECT_EQ(route(unequal, "allgather=ring"), CallRoute::links);
  EXPECT_EQ(route_of(unequal, checked(unequal), membership("auto"), SharedMemory::of_hosts), CallRoute::links);
}

TEST(CallRoute, IsOverLinksWhereAnAlgorithmIsNamed) {
  EXPECT_EQ(route(call_of(Collective::allreduce), "ring"), CallRoute::links);
  const std::string_view some = "allreduce=ring:1K,auto";
  EXPECT_EQ(route(call_of(Collective::allreduce), some), CallRoute::links);
  EXPECT_EQ(route(call_of(Collective::allgather), some), CallRoute::window);
  EXPECT_EQ(route(call_of(Collective::scan), "prefix_chain"), CallRoute::links);
}

TEST(CallRoute, IsDirectWhereTheNameIsNotFitForTheCall) {
  CallArguments broadcast = call_of(Collective::broadcast);
  broadcast.recv = routed_memory;
  EXPECT_EQ(route(broadcast, "ring"), CallRoute::window) << "it has no ring";
  EXPECT_EQ(route(broadcast, "broadcast=chain"), CallRoute::links);
  CallArguments rounded = call_of(Collective::allreduce);
  rounded.wire = HOCKET_WIRE_BFLOAT16;
  EXPECT_EQ(route(rounded, "ring"), CallRoute::window) << "which has no form of lower precision";
}

TEST(RankOrder, IsKeptWhereTheOrderIsSeen) {
  CallArguments user = call_of(Collective::allreduce);
  user.op = HOCKET_USER;
  user.function = add;
  CallArguments commutative = user;
  commutative.commutative = true;
  const CallArguments sum = call_of(Collective::allreduce);
  const Options options, deterministic{.deterministic = true};
  EXPECT_TRUE(is_in_rank_order(user, checked(user), options));
  EXPECT_FALSE(is_in_rank_order(commutative, checked(commutative), options));
  EXPECT_FALSE(is_in_rank_order(sum, checked(sum), options));
  EXPECT_TRUE(is_in_rank_order(sum, checked(sum), deterministic));
}

TEST(Choice, TakesTheAlgorithmThatSomebodyNamed) {
  const Choice choice = choose({.collective = Collective::allreduce, .bytes = 1 << 20}, membership("ring"));
  EXPECT_EQ(choice.algorithm->name, "ring");
  EXPECT_EQ(choice.id, id_of(*choice.algorithm));
}

TEST(Choice, PrefersANameToATable) {
  Options options{.rank = 0, .size = 1};
  options.tuning.set({.first = 1, .last = 1, .hosts = 1}, *Choices::parse("allreduce=ring"));
  const auto peers = std::make_shared<const std::vector<PeerInfo>>(1, describe_self(options, {}));
  const ChoiceKey key{.collective = Collective::allreduce, .bytes = 1 << 20};
  EXPECT_EQ(choose(key, *Membership::make(options, peers)).algorithm->name, "ring");
  options.algorithms = *Choices::parse("allreduce=binomial_tree");
  const auto told = std::make_shared<const std::vector<PeerInfo>>(1, describe_self(options, {}));
  EXPECT_EQ(choose(key, *Membership::make(options, told)).algorithm->name, "binomial_tree");
}

// Both ends of a message compare what they run.
TEST(Choice, NamesAReceiveAsItsSend) {
  const Membership members = membership("auto");
  const Choice send = choose({.collective = Collective::send, .bytes = 64}, members);
  const Choice recv = choose({.collective = Collective::recv, .bytes = 64}, members);
  EXPECT_EQ(send.id, recv.id);
  EXPECT_EQ(recv.algorithm->collective, Collective::recv);
}

TEST(Choice, KeepsTheOrderOfRanks) {
  const Choice choice =
      choose({.collective = Collective::allreduce, .bytes = 1 << 20, .in_rank_order = true}, membership("auto", true));
  EXPECT_TRUE(choice.algorithm->in_rank_order);
}

}  // namespace
}  // namespace hocket::comm
