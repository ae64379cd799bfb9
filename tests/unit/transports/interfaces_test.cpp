#include "transports/tcp/interfaces.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace hocket::tcp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

in6_addr interfaces_ip(const std::string& text) {
  in6_addr address{};
  const std::string whole = text.find(':') == std::string::npos ? "::ffff:" + text : text;
  EXPECT_EQ(::inet_pton(AF_INET6, whole.c_str(), &address), 1) << text;
  return address;
}

// ---- HOCKET_SOCKET_IFNAME and HOCKET_SOCKET_FAMILY

std::vector<LocalAddress> four_interfaces() {
  return {{"lo", 1, interfaces_ip("127.0.0.1"), 104},      {"lo", 1, interfaces_ip("::1"), 128},
          {"eth0", 2, interfaces_ip("10.0.0.1"), 120},     {"eth0", 2, interfaces_ip("fd00::1"), 64},
          {"eth01", 3, interfaces_ip("10.0.1.1"), 120},    {"eth1", 4, interfaces_ip("10.0.2.1"), 120},
          {"docker0", 5, interfaces_ip("172.17.0.1"), 112}};
}

std::vector<std::string> chosen(const std::string& names, const std::string& family = "") {
  const auto choice = AddressChoice::parse(names, family);
  EXPECT_TRUE(choice.ok()) << choice.status().message();
  const auto addresses = choice->choose(four_interfaces());
  EXPECT_TRUE(addresses.ok()) << addresses.status().message();
  std::vector<std::string> texts;
  for (const LocalAddress& address : *addresses) texts.push_back(Endpoint{address.ip, 0}.ip_text());
  return texts;
}

TEST(AddressChoice, NothingGivenIsEverything) {
  EXPECT_EQ(chosen("").size(), 7u);
  EXPECT_EQ(chosen("", "any").size(), 7u);
}

TEST(AddressChoice, NamesArePrefixes) {
  EXPECT_THAT(chosen("eth0"), ElementsAre("10.0.0.1", "fd00::1", "10.0.1.1"));
  EXPECT_THAT(chosen("eth1,doc"), ElementsAre("10.0.2.1", "172.17.0.1"));
  EXPECT_THAT(chosen("ib0,eth1"), ElementsAre("10.0.2.1"));
  EXPECT_THAT(chosen(",eth1,"), ElementsAre("10.0.2.1"));
}

TEST(AddressChoice, EqualsAsksForWholeNames) {
  EXPECT_THAT(chosen("=eth0"), ElementsAre("10.0.0.1", "fd00::1"));
  EXPECT_THAT(chosen("=eth0,eth1"), ElementsAre("10.0.0.1", "fd00::1", "10.0.2.1"));
}

TEST(AddressChoice, CircumflexExcludes) {
  EXPECT_THAT(chosen("^lo,docker"), ElementsAre("10.0.0.1", "fd00::1", "10.0.1.1", "10.0.2.1"));
  EXPECT_THAT(chosen("^eth,lo"), ElementsAre("172.17.0.1"));
  EXPECT_THAT(chosen("^=eth0,lo,docker0"), ElementsAre("10.0.1.1", "10.0.2.1"));
}

TEST(AddressChoice, Families) {
  EXPECT_THAT(chosen("^lo", "ipv6"), ElementsAre("fd00::1"));
  EXPECT_THAT(chosen("eth0", "ipv4"), ElementsAre("10.0.0.1", "10.0.1.1"));
}

std::string refused(const std::string& names, const std::string& family, bool by_parse) {
  const auto choice = AddressChoice::parse(names, family);
  EXPECT_EQ(choice.ok(), !by_parse);
  const Status why = choice.ok() ? choice->choose(four_interfaces()).status() : choice.status();
  EXPECT_EQ(why.code(), Code::invalid_environment);
  return why.message();
}

TEST(AddressChoice, WhatMatchesNothingListsWhatThereIs) {
  const std::string by_name = refused("ib", "", false);
  EXPECT_THAT(by_name, HasSubstr("HOCKET_SOCKET_IFNAME is \"ib\""));
  EXPECT_THAT(by_name, HasSubstr("docker0 (172.17.0.1), eth0 (10.0.0.1, fd00::1), eth01 (10.0.1.1), eth1 (10.0.2.1)"));
  EXPECT_THAT(by_name, HasSubstr("lo (127.0.0.1, ::1)"));
  EXPECT_THAT(refused("^lo,eth,docker", "", false), HasSubstr("^lo,eth,docker"));
  const std::string by_family = refused("=eth1", "ipv6", false);
  EXPECT_THAT(by_family, HasSubstr("HOCKET_SOCKET_FAMILY is \"ipv6\""));
  EXPECT_THAT(by_family, HasSubstr("=eth1"));
  EXPECT_THAT(by_family, HasSubstr("eth1 (10.0.2.1)"));
}

TEST(AddressChoice, NonsenseIsNamed) {
  for (const char* names : {"=", "^", "^=", ",", "^,,"}) {
    EXPECT_THAT(refused(names, "", true), HasSubstr("HOCKET_SOCKET_IFNAME is \"" + std::string(names) + "\""));
  }
  EXPECT_THAT(refused("", "ipv5", true), HasSubstr("HOCKET_SOCKET_FAMILY is \"ipv5\"; set it to ipv4, ipv6 or any"));
}

TEST(AddressChoice, AHostWithoutNetworkIsNoErrorByItself) {
  EXPECT_TRUE(AddressChoice::parse("", "")->choose({}).ok());
  EXPECT_FALSE(AddressChoice::parse("eth0", "")->choose({}).ok());
}

// ---- where to dial

std::vector<std::string> dialled(const LocalHost& host, const std::vector<const char*>& theirs) {
  Reachability reachability{.host = 2, .port = 80, .ips = {}};
  for (const char* one : theirs) reachability.ips.push_back(interfaces_ip(one));
  std::vector<std::string> texts;
  for (const Endpoint& endpoint : host.candidates(reachability)) texts.push_back(endpoint.text());
  return texts;
}

TEST(LocalHost, OneHostMeetsOnLoopback) {
  const Reachability theirs{.host = 1, .port = 81, .ips = {interfaces_ip("10.0.0.1"), interfaces_ip("fd00::1")}};
  const auto first = [&](Family family) { return LocalHost(1, family, four_interfaces()).candidates(theirs); };
  ASSERT_EQ(first(Family::any).size(), 1u);
  EXPECT_EQ(first(Family::any)[0].text(), "127.0.0.1:81");
  EXPECT_EQ(first(Family::ipv4)[0].text(), "127.0.0.1:81");
  EXPECT_EQ(first(Family::ipv6)[0].text(), "[::1]:81");
}

TEST(LocalHost, OurNetworksComeFirstAndOurOwnAddressesLast) {
  const LocalHost host(1, Family::any, four_interfaces());
  const auto order = dialled(host, {"127.0.0.1", "172.17.0.1", "10.0.2.200", "fd00::77", "10.0.0.7"});
  EXPECT_THAT(order, ElementsAre("10.0.2.200:80", "[fd00::77]:80", "10.0.0.7:80", "127.0.0.1:80", "172.17.0.1:80"));
}

// A host that has lost its network would take its own loopback's refusal for the death of all others.
TEST(LocalHost, OnlyTheirOwnAddressesTellThatNobodyListens) {
  const auto asked = [](const std::vector<const char*>& theirs) {
    Reachability reachability{.host = 2, .port = 80, .ips = {}};
    for (const char* one : theirs) reachability.ips.push_back(interfaces_ip(one));
    std::vector<std::string> texts;
    for (const Endpoint& endpoint : LocalHost(1, Family::any, four_interfaces()).doors(reachability)) {
      texts.push_back(endpoint.text());
    }
    return texts;
  };
  EXPECT_THAT(asked({"127.0.0.1", "172.17.0.1", "10.0.2.200"}), ElementsAre("10.0.2.200:80"));
  EXPECT_THAT(asked({"127.0.0.1", "172.17.0.1"}), ElementsAre("127.0.0.1:80", "172.17.0.1:80"));
}

TEST(LocalHost, OneFamilyIsDialledOnlyWhereOneIsAllowed) {
  EXPECT_THAT(dialled(LocalHost(1, Family::ipv6, four_interfaces()), {"10.0.0.7", "fd00::7"}),
              ElementsAre("[fd00::7]:80"));
  EXPECT_THAT(dialled(LocalHost(1, Family::ipv4, four_interfaces()), {"10.0.0.7", "fd00::7"}),
              ElementsAre("10.0.0.7:80"));
  EXPECT_TRUE(dialled(LocalHost(1, Family::ipv4, four_interfaces()), {"fd00::7"}).empty());
}

TEST(LocalHost, LinkLocalAddressesAreTriedThroughEachInterfaceThatHasOne) {
  auto addresses = four_interfaces();
  const std::uint32_t loopback = ::if_nametoindex("lo");  // a name that every host has
  addresses.push_back({"lo", loopback, interfaces_ip("fe80::1"), 64});
  EXPECT_THAT(dialled(LocalHost(1, Family::any, addresses), {"fe80::9", "10.0.0.7"}),
              ElementsAre("10.0.0.7:80", "[fe80::9%lo]:80"));
  EXPECT_TRUE(dialled(LocalHost(1, Family::any, four_interfaces()), {"fe80::9"}).empty());
}

TEST(LocalHost, AdvertisesAllInOrder) {
  auto addresses = four_interfaces();
  addresses.insert(addresses.begin(), {"eth0", 2, interfaces_ip("fe80::1"), 64});
  std::vector<std::string> texts;
  for (const in6_addr& one : LocalHost(1, Family::any, addresses).advertise(9).ips) {
    texts.push_back(Endpoint{one, 0}.ip_text());
  }
  EXPECT_THAT(texts,
              ElementsAre("10.0.0.1", "10.0.1.1", "10.0.2.1", "172.17.0.1", "fd00::1", "fe80::1", "127.0.0.1", "::1"));
}

TEST(LocalHost, AsManyAsFit) {
  const std::vector<LocalAddress> many(100, {"eth0", 2, interfaces_ip("10.0.0.1"), 120});
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(LocalHost(1, Family::any, many).advertise(9).ips.size(), ips_max);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("has 100 addresses, of which only 24 are advertised"));
}

std::vector<std::string> texts_of(const std::vector<Endpoint>& endpoints) {
  std::vector<std::string> texts;
  for (const Endpoint& endpoint : endpoints) texts.push_back(endpoint.ip_text());
  return texts;
}

TEST(LocalHost, ListensWhereItAdvertisesAndOnLoopback) {
  EXPECT_TRUE(LocalHost(1, Family::any, four_interfaces()).listening_endpoints().empty()) << "everywhere";
  const std::vector<LocalAddress> one{{"eth0", 2, interfaces_ip("::ffff:10.0.0.1"), 120}};
  EXPECT_THAT(texts_of(LocalHost(1, Family::any, one, {.narrowed = true}).listening_endpoints()),
              ElementsAre("127.0.0.1", "10.0.0.1"));
  const std::vector<LocalAddress> two{{"lo", 1, interfaces_ip("::1"), 128}, {"eth0", 2, interfaces_ip("fd00::1"), 64}};
  EXPECT_THAT(texts_of(LocalHost(1, Family::ipv6, two, {.narrowed = true}).listening_endpoints()),
              ElementsAre("::1", "fd00::1"));
}

TEST(LocalHost, ExternalAddressesComeFirst) {
  const std::vector<LocalAddress> own{{"eth0", 2, interfaces_ip("::ffff:172.17.0.2"), 112}};
  const LocalHost host(1, Family::any, own, {.external = {interfaces_ip("::ffff:203.0.113.7")}});
  const Reachability told = host.advertise(9);
  ASSERT_EQ(told.ips.size(), 2u);
  EXPECT_EQ(Endpoint{told.ips[0]}.ip_text(), "203.0.113.7");
  EXPECT_TRUE(host.listening_endpoints().empty());
}

TEST(ExternalAddresses, AreReadFromTheEnvironment) {
  ::setenv("HOCKET_TCP_ADVERTISE", "203.0.113.7,2001:db8::7", 1);
  const auto two = external_addresses();
  ::setenv("HOCKET_TCP_ADVERTISE", "gateway", 1);
  const auto nonsense = external_addresses();
  ::unsetenv("HOCKET_TCP_ADVERTISE");
  ASSERT_TRUE(two.ok());
  ASSERT_EQ(two->size(), 2u);
  EXPECT_EQ(Endpoint{two->front()}.ip_text(), "203.0.113.7");
  EXPECT_EQ(nonsense.status().code(), Code::invalid_environment);
  EXPECT_THAT(nonsense.status().message(), HasSubstr("HOCKET_TCP_ADVERTISE is \"gateway\""));
  EXPECT_TRUE(external_addresses()->empty());
}

TEST(LocalHost, OfThisMachineIsTheSameForAllItsRanks) {
  const auto here = LocalHost::from_environment();
  const auto again = LocalHost::from_environment();
  ASSERT_TRUE(here.ok() && again.ok());
  EXPECT_EQ(here->advertise(1).host, again->advertise(2).host);
  EXPECT_FALSE(here->advertise(1).ips.empty());
}

// Virtual interfaces tell a speed that is nobody's (a veth: 10 Gbit/s), others may tell none.
TEST(Interface, TellsItsSpeedWhereItIsPhysical) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / ("interfaces" + std::to_string(::getpid()));
  const auto add = [&](const std::string& name, const std::string& speed, bool physical) {
    std::filesystem::create_directories(folder / name / (physical ? "device" : "."));
    std::ofstream(folder / name / "speed") << speed << '\n';
  };
  add("eth0", "25000", true);
  add("eth1", "-1", true);
  add("eth2", "", true);
  add("veth0", "10000", false);
  EXPECT_EQ(megabits_per_second_of("eth0", folder), 25'000);
  for (const char* silent : {"eth1", "eth2", "veth0", "none"}) EXPECT_EQ(megabits_per_second_of(silent, folder), 0);
  EXPECT_EQ(megabits_per_second_of("lo"), 0);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace hocket::tcp
