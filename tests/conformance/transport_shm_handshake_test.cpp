// Who connects to a rank's Unix socket: strangers, liars, and peers of simulated hosts.
#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdlib>
#include <cstring>

#include "tests/conformance/transport_ranks.hpp"
#include "transports/shm/shm_transport.hpp"

namespace hocket::shm {
namespace {

using ::testing::HasSubstr;
using testing_support::Outcome;
using testing_support::Ranks;
using testing_support::Recorder;

std::uint64_t fresh_group() {
  static std::uint64_t count = 0;
  return (static_cast<std::uint64_t>(::getpid()) << 32) + ++count;
}

struct Maker {
  explicit Maker(Rank) {}
  Result<std::unique_ptr<Transport>> make(TransportConfig config) const {
    config.group = group;
    return make_transport(config);
  }
  std::uint64_t group = fresh_group();
};

// A client that is none of the group's transports.
class Stranger {
 public:
  Stranger(std::uint64_t group, Rank rank) {
    UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    const std::string name = name_of(group, rank);
    std::memcpy(to.sun_path + 1, name.data(), name.size());
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), bytes), 0);
    channel = Channel(std::move(fd));
  }
  void say_bytes(std::string_view bytes) {
    EXPECT_EQ(::send(channel.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  void say(PacketKind kind, std::array<std::uint64_t, packet_words> words, std::span<const int> fds = {}) {
    EXPECT_TRUE(channel.try_send({.kind = kind, .words = words}, fds));
  }
  void say_hello(std::uint64_t group, Rank from, Rank to) {
    const int fd = wake_event.get();
    say(PacketKind::hello, {group, static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to)}, {&fd, 1});
  }
  // Whether the other side ends the connection without a word, while `ranks` progress.
  bool refused(Ranks<Maker>& ranks) {
    Packet packet;
    return ranks.until([&] {
      const auto event = channel.receive(packet);
      EXPECT_NE(event, Channel::Event::packet);
      return event == Channel::Event::end;
    });
  }

  Channel channel;
  UniqueFd wake_event{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
};

TEST(ShmHandshake, RefusesStrangersAndGoesOn) {
  const Maker maker(3);
  Ranks<Maker> ranks(3, maker);
  using Greeting = std::function<void(Stranger&)>;
  const std::pair<const char*, Greeting> greetings[] = {
      {"HTTP", [](Stranger& it) { it.say_bytes("GET / HTTP/1.1\r\n\r\n"); }},
      {"garbage", [](Stranger& it) { it.say_bytes(std::string(20'000, 'x')); }},
      {"one byte", [](Stranger& it) { it.say_bytes("x"); }},
      {"another group", [&](Stranger& it) { it.say_hello(maker.group + 1, 1, 0); }},
      {"another rank's socket", [&](Stranger& it) { it.say_hello(maker.group, 2, 1); }},
      {"a rank that is too large", [&](Stranger& it) { it.say_hello(maker.group, 3, 0); }},
      {"a negative rank", [&](Stranger& it) { it.say_hello(maker.group, -1, 0); }},
      {"this rank itself", [&](Stranger& it) { it.say_hello(maker.group, 0, 0); }},
      {"no wake event",
       [&](Stranger& it) {
         it.say(PacketKind::hello, {maker.group, 1, 0, 0});
       }},
      {"a welcome",
       [&](Stranger& it) {
         it.say(PacketKind::welcome, {maker.group, 1, 0, 0});
       }},
      {"a goodbye", [&](Stranger& it) { it.say(PacketKind::goodbye, {}); }},
  };
  for (const auto& [name, greet] : greetings) {
    Stranger stranger(maker.group, 0);
    greet(stranger);
    EXPECT_TRUE(stranger.refused(ranks)) << name;
  }
  expect_unharmed(ranks);
}

TEST(ShmHandshake, TheSilentDoNoHarm) {
  const Maker maker(2);
  Ranks<Maker> ranks(2, maker);
  std::vector<Stranger> silent;
  for (int i = 0; i < 200; ++i) silent.emplace_back(maker.group, 0);
  { Stranger gone(maker.group, 0); }
  ranks.settle();
  ASSERT_TRUE(ranks[0].next_deadline().has_value());  // the silent ones will be shown out
  expect_unharmed(ranks);
  EXPECT_TRUE(silent.front().refused(ranks));  // the oldest made room
}

// On a busy host the ranks that dial may all have come before this one gets its turn.
TEST(ShmHandshake, AllRanksMayComeAtOnce) {
  constexpr Rank size = 200;
  const Maker maker(size);
  Recorder recorder;
  const auto made = maker.make({.rank = 0, .size = size, .listener = &recorder});
  ASSERT_TRUE(made.ok()) << made.status().message();
  Transport& rank_0 = **made;
  std::vector<Stranger> peers;
  for (Rank rank = 1; rank < size; ++rank) peers.emplace_back(maker.group, 0).say_hello(maker.group, rank, 0);
  const auto connected = [&] {
    Rank count = 0;
    for (Rank rank = 1; rank < size; ++rank) count += rank_0.connected(rank) ? 1 : 0;
    return count;
  };
  for (const Deadline deadline = testing_support::soon(); connected() < size - 1 && !deadline.passed();)
    rank_0.progress();
  EXPECT_EQ(connected(), size - 1);
  rank_0.shut_down(Status(), Deadline::after({}));
}

// A stranger that has been let in as rank 1, and what rank 0 sees of it.
struct Impostor {
  Maker maker{2};
  testing_support::Bytes bytes = testing_support::Bytes(100);
  Outcome receive;  // outlives the ranks, who may end it
  Ranks<Maker> ranks{2, maker};
  Stranger peer{maker.group, 0};

  Impostor() {
    peer.say_hello(maker.group, 1, 0);
    EXPECT_TRUE(ranks.until([&] { return ranks[0].connected(1); }));
    ranks.connect(0, 1).recv(testing_support::tag(1), testing_support::whole(bytes), receive);
  }
  const Status& failure() {
    EXPECT_TRUE(ranks.until([&] { return !ranks.seen(0).failures.empty() && receive.done(); }));
    EXPECT_EQ(ranks.seen(0).failures.size(), 1u);
    EXPECT_EQ(receive.times, 1);
    return ranks.seen(0).failures[0].second;
  }
};

TEST(ShmHandshake, OneConnectionForEachRank) {
  Impostor impostor;
  Stranger second(impostor.maker.group, 0);
  second.say_hello(impostor.maker.group, 1, 0);
  EXPECT_TRUE(second.refused(impostor.ranks));
  EXPECT_TRUE(impostor.ranks.seen(0).failures.empty());
}

TEST(ShmHandshake, NonsenseAfterTheGreetingBreaksTheLink) {
  const auto memory = create_memory("a test", 4096);  // too small for anything
  ASSERT_TRUE(memory.ok());
  const int fd = memory->get();
  UniqueFd unsealed(::eventfd(0, 0));
  const int no_memory = unsealed.get();
  using Word = std::function<void(Stranger&)>;
  const Word words[] = {
      [](Stranger& it) { it.say_bytes("nonsense"); },
      [](Stranger& it) { it.say(PacketKind::hello, {}); },
      [](Stranger& it) { it.say(PacketKind::ring, {ring_bytes}); },
      [&](Stranger& it) {
        it.say(PacketKind::ring, {ring_bytes}, {&fd, 1});
      },
      [&](Stranger& it) {
        it.say(PacketKind::ring, {ring_bytes}, {&no_memory, 1});
      },
  };
  for (const Word& word : words) {
    Impostor impostor;
    word(impostor.peer);
    const Status why = impostor.failure();
    EXPECT_EQ(why.code(), Code::protocol_error) << why.message();
    EXPECT_THAT(why.message(), HasSubstr("rank 1 (process "));
    EXPECT_EQ(why.cause().peer, 1);
  }
}

TEST(ShmHandshake, NonsenseInARingBreaksTheLink) {
  // Nothing has been written of the message that has come, or not even its header, or more than the ring holds.
  for (const std::uint64_t written :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{ring_data_bytes + 64}, ~std::uint64_t{0}}) {
    Impostor impostor;
    RingWriter ring;
    const auto memory = ring.create();
    ASSERT_TRUE(memory.ok());
    const int fd = memory->get();
    impostor.peer.say(PacketKind::ring, {ring_bytes}, {&fd, 1});
    ring.control().written = written;
    RingWriter::show(ring.at(), MessageHeader::present | impostor.bytes.size());
    EXPECT_EQ(impostor.failure().code(), Code::protocol_error) << written;
  }
}

TEST(ShmHandshake, OneProcessForEachRank) {
  const Maker maker(2);
  Recorder recorder;
  const TransportConfig config{.rank = 0, .size = 2, .listener = &recorder};
  const auto first = maker.make(config);
  ASSERT_TRUE(first.ok());
  const auto second = maker.make(config);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), Code::unsupported);
  EXPECT_THAT(second.status().message(), HasSubstr("rank 0"));
}

class HostId {
 public:
  explicit HostId(const std::string& id) { ::setenv("HOCKET_HOST_ID", id.c_str(), 1); }
  HostId(const HostId&) = delete;
  HostId& operator=(const HostId&) = delete;
  ~HostId() { ::unsetenv("HOCKET_HOST_ID"); }
};

TEST(ShmHandshake, PretendedHostsDoNotReachEachOther) {
  const Maker maker(3);
  Recorder recorder;
  std::unique_ptr<Transport> ranks[3];
  for (const auto& [rank, host] : {std::pair{0, "left"}, {1, "right"}, {2, "left"}}) {
    const HostId id(host);
    ranks[rank] = maker.make({.rank = rank, .size = 3, .listener = &recorder}).value();
  }
  EXPECT_TRUE(ranks[0]->reaches(ranks[2]->address()));
  EXPECT_TRUE(ranks[2]->reaches(ranks[0]->address()));
  EXPECT_FALSE(ranks[0]->reaches(ranks[1]->address()));
  EXPECT_FALSE(ranks[1]->reaches(ranks[0]->address()));
  EXPECT_EQ(ranks[0]->connect(1, ranks[1]->address(), testing_support::soon()).status().code(), Code::invalid_argument);
}

TEST(ShmHandshake, ALongHostIdIsRefusedAndTheLongestFits) {
  Recorder recorder;
  const TransportConfig config{.rank = 0, .size = 2, .listener = &recorder};
  {
    const HostId id(std::string(256, 'h'));
    EXPECT_LE(Maker(2).make(config).value()->address().size(), 512u);
  }
  const HostId id(std::string(257, 'h'));
  EXPECT_EQ(Maker(2).make(config).status().code(), Code::invalid_environment);
}

}  // namespace
}  // namespace hocket::shm
