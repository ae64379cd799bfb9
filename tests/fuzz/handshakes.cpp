// What newcomers say before they are let in: to a rank over TCP or on the Unix socket of its host, and to the store;
// and what a rank over TCP and a store answer. Where there is a secret, nobody gets in who does not know it.
#include <netinet/in.h>
#include <sys/eventfd.h>

#include <algorithm>

#include "src/store/welcome.hpp"
#include "tests/fuzz/socket_pairs.hpp"
#include "transports/shm/handshake.hpp"
#include "transports/tcp/handshake.hpp"

namespace hocket::fuzz {
namespace {

constexpr std::uint64_t group = 4711;
const std::string secret = "a secret of some length";

// Of rank 0 of 3.
const AcceptGuard& guard(bool secretive) {
  static const TransportConfig open{.size = 3, .group = group};
  static const TransportConfig shut{.size = 3, .group = group, .secret = secret};
  static const AcceptGuard guards[] = {AcceptGuard(open), AcceptGuard(shut)};
  return guards[secretive ? 1 : 0];
}

// Whether the newcomer got as far as it may: in or, where there is a secret, to the challenge.
bool judge(Handshake now, bool secretive, const std::string& problem, bool challenged) {
  require_printable(problem);
  if (now == Handshake::failed) return false;
  require(!secretive || now != Handshake::done);
  return now == Handshake::done || challenged;
}

// Comes in two pieces.
bool run_tcp(std::string_view input, bool secretive) {
  static const tcp::Settings settings;
  Ends ends = open_pair(SOCK_STREAM);
  tcp::Greeting greeting(std::move(ends.ours), tcp::Endpoint{}, guard(secretive), settings);
  Handshake now = Handshake::waiting;
  for (const std::string_view piece : {input.substr(0, input.size() / 2), input.substr(input.size() / 2)}) {
    require(::send(ends.theirs.get(), piece.data(), piece.size(), MSG_NOSIGNAL) >= 0);
    now = greeting.step();
    if (now != Handshake::waiting) break;
  }
  char answer[256];
  return judge(now, secretive, greeting.problem(), ::recv(ends.theirs.get(), answer, sizeof answer, 0) > 0);
}

// Where nothing but this dials, and what tells where that is.
struct Door {
  Door() {
    sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
    socklen_t bytes = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    require(::bind(listener.get(), any, bytes) == 0 && ::listen(listener.get(), 4) == 0);
    require(::getsockname(listener.get(), any, &bytes) == 0);
    endpoint = tcp::endpoint_of(any).value();
  }

  UniqueFd listener{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  tcp::Endpoint endpoint;
};

// What rank 1 hears that has dialled rank 0, in two pieces.
bool run_tcp_dial(std::string_view input, bool secretive) {
  static const tcp::Settings settings;
  static const Door door;
  tcp::Dial dial({tcp::HelloKind::hello, group, 1, 0}, {door.endpoint}, Deadline::never(), settings,
                 secretive ? secret : "");
  Handshake now = dial.step();
  const UniqueFd theirs(::accept4(door.listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  const linger reset{1, 0};  // no port is kept for a while
  require(::setsockopt(theirs.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset) == 0);
  now = dial.step();
  for (const std::string_view piece : {input.substr(0, input.size() / 2), input.substr(input.size() / 2)}) {
    if (now != Handshake::waiting) break;
    require(::send(theirs.get(), piece.data(), piece.size(), MSG_NOSIGNAL) >= 0);
    now = dial.step();
  }
  require_printable(dial.problem());
  require(!secretive || now != Handshake::done);
  return now == Handshake::done;
}

// A row of packets, each behind its length, and each with a descriptor where the length is odd.
bool run_shm(std::string_view input, bool secretive) {
  static const UniqueFd wake_event(::eventfd(0, EFD_CLOEXEC));
  Ends ends = open_pair(SOCK_SEQPACKET);
  shm::Greeting greeting(std::move(ends.ours), guard(secretive), wake_event.get());
  Handshake now = Handshake::waiting;
  for (ByteReader reader(input); reader.left() > 0 && now == Handshake::waiting; now = greeting.step()) {
    const auto wanted = std::size_t{reader.take<std::uint16_t>()};
    const std::string_view bytes = reader.text(std::min(wanted, reader.left()));
    iovec part{const_cast<char*>(bytes.data()), bytes.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{.msg_iov = &part, .msg_iovlen = 1};
    if (wanted % 2 == 1) {
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      cmsghdr* const head = CMSG_FIRSTHDR(&message);
      head->cmsg_level = SOL_SOCKET;
      head->cmsg_type = SCM_RIGHTS;
      head->cmsg_len = CMSG_LEN(sizeof(int));
      const int fd = wake_event.get();
      std::memcpy(CMSG_DATA(head), &fd, sizeof fd);
    }
    if (::sendmsg(ends.theirs.get(), &message, MSG_NOSIGNAL) < 0) return false;
  }
  char answer[256];
  return judge(now, secretive, greeting.problem(), ::recv(ends.theirs.get(), answer, sizeof answer, 0) > 0);
}

const Trust& trust(bool secretive) {
  static const Trust trusts[] = {{.insecure = true}, {.secret = secret}};
  return trusts[secretive ? 1 : 0];
}

// Greetings, one after the other, until one is refused.
bool run_store(std::string_view input, std::string_view magic, auto take) {
  bool taken = false;
  for (;;) {
    const auto greeting = store::wire::parse_greeting(input, magic);
    if (!greeting || !*greeting) return taken;
    if (!take(**greeting)) return false;
    taken = true;
    input.remove_prefix((*greeting)->size());
  }
}

bool run_server(std::string_view input, bool secretive) {
  const Ends ends = open_pair(SOCK_STREAM);
  store::Welcome welcome(trust(secretive));
  return run_store(input, store::wire::client_magic, [&](const store::wire::Greeting& greeting) {
    const auto answer = welcome.take(greeting, ends.ours.get());
    require_printable(answer.problem);
    require(answer.text.size() <= store::wire::greeting_text_bytes_max);
    require(!secretive || answer.verdict != store::wire::Verdict::welcome || !answer.problem.empty());
    return answer.problem.empty();
  });
}

bool run_client(std::string_view input, bool secretive) {
  const Ends ends = open_pair(SOCK_STREAM);
  store::Introduction introduction(trust(secretive));
  return run_store(input, store::wire::server_magic, [&](const store::wire::Greeting& greeting) {
    const auto step = introduction.take(greeting, ends.ours.get());
    require_printable(step.refused.message());
    require(!secretive || !step.welcome);
    return step.refused.ok();
  });
}

bool run(std::string_view input) {
  const unsigned way = choose(input, 10);
  const bool secretive = way % 2 == 1;
  switch (way / 2) {
    case 0: return run_tcp(input, secretive);
    case 1: return run_shm(input, secretive);
    case 2: return run_server(input, secretive);
    case 3: return run_client(input, secretive);
    default: return run_tcp_dial(input, secretive);
  }
}

std::string tcp_hello(std::string_view authentication, tcp::HelloKind kind = tcp::HelloKind::hello, Rank from = 1) {
  const auto bytes =
      encode(tcp::Hello{kind, group, from, 1 - from, {}, static_cast<std::uint16_t>(authentication.size())});
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()).append(authentication);
}

std::string greeting(std::string_view magic, std::uint16_t word, std::string_view text) {
  return store::wire::encode_greeting(magic, {.word = word, .text = text});
}

std::vector<std::string> seeds() {
  using store::wire::client_magic, store::wire::server_magic;
  const std::string number(Challenge::nonce_bytes, 'n'), proof(Challenge::proof_bytes, 'p');
  std::string shm_hello = sent({.kind = shm::PacketKind::hello, .words = {group, 2, 0}});
  std::string with_descriptor = shm_hello + '\0';
  ++with_descriptor.front();
  const std::string with_number = sent({.kind = shm::PacketKind::hello, .words = {group, 2, 0}, .text = number});
  return {chosen(0, tcp_hello("")),
          chosen(1, tcp_hello(number)),
          chosen(3, with_number),
          chosen(4, greeting(client_magic, 0, "")),
          chosen(5, greeting(client_magic, 1, number)),
          chosen(6, greeting(server_magic, 0, "")),
          chosen(8, tcp_hello("", tcp::HelloKind::welcome, 0))};
}

}  // namespace

const Target handshakes{"handshakes", run, seeds};

}  // namespace hocket::fuzz
