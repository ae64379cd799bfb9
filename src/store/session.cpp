#include "src/store/session.hpp"

#include <fmt/format.h>
#include <netinet/tcp.h>

#include <array>
#include <utility>

namespace hocket::store {
namespace {

// A client that does not read its answers is not read from, either.
constexpr std::size_t unsent_bytes_max = std::size_t{8} << 20;
constexpr std::size_t answers_in_one_write = 32;
constexpr std::size_t idle_input_bytes_max = 65536;

// A host that vanishes without a word is found out within about half a minute.
void keep_alive(asio::ip::tcp::socket& socket) {
  const auto set = [&](int level, int option, int value) {
    (void)::setsockopt(socket.native_handle(), level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 15);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 30'000);
}

}  // namespace

Session::Session(SessionListener& listener, ClientId id, asio::ip::tcp::socket socket, const Trust& trust,
                 std::optional<Welcome::Answer> refusal)
    : listener_(listener),
      id_(id),
      socket_(std::move(socket), trust.tls),
      timer_(socket_.plain().get_executor()),
      greeter_(trust),
      refusal_(std::move(refusal)) {
  asio::error_code error;
  const auto endpoint = socket_.plain().remote_endpoint(error);
  peer_ = error ? "a client that is gone" : endpoint.address().to_string(error);
}

void Session::start(std::chrono::milliseconds greeting_timeout) {
  guarded([&] {
    asio::error_code ignored;  // each of these is an improvement, none a need
    socket_.plain().set_option(asio::ip::tcp::no_delay(true), ignored);
    keep_alive(socket_.plain());
    socket_.plain().non_blocking(true, ignored);
    timer_.expires_after(greeting_timeout);
    timer_.async_wait([self = shared_from_this()](const asio::error_code& error) {
      if (!error && self->open_ && !self->welcome_) self->refuse("it did not greet in time");
    });
    read();
  });
}

void Session::respond(std::uint64_t request, Code code, Dictionary::Value payload) {
  guarded([&] {
    const std::size_t payload_bytes = payload ? payload->size() : 0;
    send({wire::encode_response_head(request, code, payload_bytes), std::move(payload)});
  });
}

void Session::close() {
  if (!open_) return;
  open_ = false;
  const auto self = shared_from_this();
  asio::error_code ignored;
  timer_.cancel(ignored);
  socket_.close();
  queue_.clear();
  input_.clear();
  (void)account_for_input();
  listener_.left(*this);
}

template <class Step>
void Session::guarded(Step step) {
  try {
    step();
  } catch (const std::exception& error) {
    if (open_) refuse(error.what());
  }
}

void Session::read() {
  if (!open_ || reads_ || last_words_ || unsent_bytes_ > unsent_bytes_max) return;
  reads_ = true;
  socket_.when_readable([self = shared_from_this()](const asio::error_code& error) {
    self->reads_ = false;
    if (error) return self->close();
    self->guarded([&] { self->on_readable(); });
  });
}

void Session::on_readable() {
  std::array<char, 65536> block;
  const auto got = socket_.receive(block);
  if (!got) return socket_.problem().empty() ? close() : refuse(socket_.problem());
  input_.append(block.data(), *got);
  if (!account_for_input()) return refuse("too many large requests are under way");
  for (std::size_t used = 1; used > 0 && open_ && !welcome_ && !last_words_;) {
    used = take_greeting();
    input_.erase(0, used);
  }
  proceed();
}

void Session::proceed() {
  if (welcome_) input_.erase(0, take_frames());
  if (input_.empty() && input_.capacity() > idle_input_bytes_max) input_ = {};
  (void)account_for_input();  // less than before
  read();
}

// Both return how many bytes of the input are used up.
std::size_t Session::take_greeting() {
  const auto greeting = wire::parse_greeting(input_, wire::client_magic);
  if (!greeting) {
    refuse(looks_like_tls(input_) ? fmt::format("it speaks TLS, and this store does not: {}", how_to_speak_tls)
                                  : greeting.status().message());
    return 0;
  }
  if (!*greeting) return 0;
  if ((*greeting)->version != wire::version) {
    const std::string why = fmt::format(
        "the client speaks version {} of the protocol and the store version {}; install the same Hocket on "
        "both sides",
        (*greeting)->version, wire::version);
    answer({wire::Verdict::other_version, why, why});
  } else {
    answer(refusal_ ? *refusal_ : greeter_.take(**greeting, socket_.fd()));
  }
  return (*greeting)->size();
}

void Session::answer(const Welcome::Answer& answer) {
  const bool refused = !answer.problem.empty();
  if (refused && !answer.tells_client) return refuse(answer.problem);
  last_words_ = refused;
  welcome_ = answer.verdict == wire::Verdict::welcome;
  if (welcome_) {
    timer_.cancel();
    listener_.welcomed(*this);
  }
  const bool starves = answer.verdict == wire::Verdict::starved && answer.text.empty();
  const std::string text = starves ? listener_.starve() : answer.text;
  const wire::Greeting mine{.word = static_cast<std::uint16_t>(answer.verdict), .text = text};
  send({wire::encode_greeting(wire::server_magic, mine), nullptr});
  if (refused) listener_.refused(*this, answer.problem);
}

std::size_t Session::take_frames() {
  std::size_t used = 0;
  while (open_ && unsent_bytes_ <= unsent_bytes_max) {
    const auto body = wire::parse_frame(std::string_view(input_).substr(used), wire::request_bytes_max);
    if (body && !*body) break;
    const auto request = body ? wire::parse_request(**body) : Result<wire::Request>(body.status());
    if (!request) {
      refuse(request.status().message());
      break;
    }
    used += wire::frame_head_bytes + (*body)->size();
    active_at_ = std::chrono::steady_clock::now();
    listener_.requested(*this, *request);
  }
  return used;
}

void Session::send(Outgoing outgoing) {
  if (!open_) return;
  unsent_bytes_ += outgoing.bytes();
  queue_.push_back(std::move(outgoing));
  if (!writes_) write();
}

void Session::write() {
  std::vector<asio::const_buffer> buffers;
  while (!queue_.empty() && writing_.size() < answers_in_one_write) {
    writing_.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  for (const Outgoing& outgoing : writing_) {
    buffers.push_back(asio::buffer(outgoing.head));
    if (outgoing.payload) buffers.push_back(asio::buffer(*outgoing.payload));
  }
  writes_ = true;
  socket_.write(buffers, [self = shared_from_this()](const asio::error_code& error) {
    self->writes_ = false;
    for (const Outgoing& outgoing : self->writing_) self->unsent_bytes_ -= outgoing.bytes();
    self->writing_.clear();
    if (error) return self->close();
    self->guarded([&] {
      if (self->open_ && !self->queue_.empty()) return self->write();
      if (self->last_words_) return self->close();
      self->proceed();
    });
  });
}

bool Session::account_for_input() {
  const std::size_t now = input_.size() > idle_input_bytes_max ? input_.size() : 0;
  return listener_.holds(std::exchange(accounted_, now), now);
}

void Session::refuse(std::string_view why) {
  listener_.refused(*this, why);
  close();
}

}  // namespace hocket::store
