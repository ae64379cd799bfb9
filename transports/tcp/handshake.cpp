#include "transports/tcp/handshake.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "transports/tcp/sockets.hpp"

namespace hocket::tcp {
namespace {

using namespace std::chrono_literals;

constexpr auto stranger_patience = 10s;  // for a newcomer to say hello
constexpr auto endpoint_patience = 10s;  // for the welcome of one of several endpoints
constexpr auto next_after = 250ms;       // for one of several endpoints to accept, before another is called as well

using Filled = HelloReader::Filled;

}  // namespace

Dial::Dial(const Hello& hello, std::vector<Endpoint> endpoints, Deadline deadline, const Settings& settings,
           std::string secret)
    : hello_(hello),
      endpoints_(std::move(endpoints)),
      deadline_(deadline),
      next_at_(deadline),
      settings_(&settings),
      secret_(std::move(secret)) {
  if (endpoints_.empty()) problem_ = "it advertises no address that this rank may use";
}

void Dial::note(std::size_t endpoint, const std::string& why) {
  problem_ += fmt::format("{}{}: {}", problem_.empty() ? "" : "; ", endpoints_[endpoint].text(), why);
}

void Dial::end(std::size_t attempt, const std::string& why) {
  note(attempts_[attempt].endpoint, why);
  attempts_.erase(attempts_.begin() + static_cast<std::ptrdiff_t>(attempt));
  ++watch_epoch_;
}

Dial::Attempt* Dial::greeted() {
  const auto found =
      std::find_if(attempts_.begin(), attempts_.end(), [](const Attempt& one) { return one.patience.has_value(); });
  return found == attempts_.end() ? nullptr : &*found;
}

// Calls the next endpoint that lets itself be called.
void Dial::begin_next() {
  while (next_ < endpoints_.size()) {
    const std::size_t endpoint = next_++;
    auto started = start_connecting(endpoints_[endpoint], *settings_);
    if (!started) {
      note(endpoint, started.status().message());
      if (started.status().code() == Code::out_of_resources) code_ = Code::out_of_resources;
      continue;
    }
    attempts_.push_back({endpoint, Socket(std::move(*started), settings_->tls, TlsStream::Side::dialled)});
    ++watch_epoch_;
    next_at_ = Deadline::after(next_after);
    return;
  }
}

Handshake Dial::step() {
  if (deadline_.passed()) return run_out_of_time();
  for (std::size_t i = 0; i < attempts_.size();) {
    const auto problem = look_at(attempts_[i]);
    if (!problem) {
      ++i;
    } else {
      end(i, *problem);
    }
  }
  while (!greeted() && greet_one()) continue;
  if (Attempt* const attempt = greeted()) {
    if (const auto problem = await_welcome(*attempt)) {
      end(static_cast<std::size_t>(attempt - attempts_.data()), *problem);
    } else if (done_) {
      std::swap(attempts_.front(), *attempt);
      attempts_.resize(1);
      return Handshake::done;
    }
  }
  if (attempts_.empty() || (!greeted() && next_at_.passed())) begin_next();
  return attempts_.empty() ? Handshake::failed : Handshake::waiting;
}

// Whether its connecting, and what makes it secure, has ended.
std::optional<std::string> Dial::look_at(Attempt& attempt) {
  if (attempt.secured) return std::nullopt;
  if (!attempt.connected) {
    pollfd ready{attempt.socket.fd(), POLLOUT, 0};
    if (::poll(&ready, 1, 0) <= 0) return std::nullopt;
    if (const int error = connect_error(attempt.socket.fd()); error != 0) return no_connection(error);
    attempt.connected = true;
    ++watch_epoch_;
  }
  const bool flushed = !attempt.socket.flushing();
  const auto now = attempt.socket.secure();
  if (now == TlsStream::Handshake::failed || now == TlsStream::Handshake::closed) return attempt.socket.problem();
  attempt.secured = now == TlsStream::Handshake::done;
  if (attempt.secured || flushed == attempt.socket.flushing()) ++watch_epoch_;
  return std::nullopt;
}

// Says hello to the first that has accepted. Whether another may be tried at once: this one has hung up.
bool Dial::greet_one() {
  for (std::size_t i = 0; i < attempts_.size(); ++i) {
    if (!attempts_[i].secured) continue;
    if (!say_hello(attempts_[i])) {
      end(i, "it closed the connection");
      return true;
    }
    attempts_[i].patience = Deadline::after(endpoint_patience);
    ++watch_epoch_;
    return false;
  }
  return false;
}

bool Dial::say_hello(Attempt& attempt) {
  reader_ = {};
  proven_ = false;
  challenge_.reset();
  if (!secret_.empty()) challenge_.emplace(secret_, Challenge::Side::dials, context_of(hello_));
  return send_hello(attempt.socket, hello_, challenge_ ? challenge_->nonce() : "");
}

std::optional<std::string> Dial::await_welcome(Attempt& attempt) {
  while (true) {
    switch (reader_.fill(attempt.socket)) {
      case Filled::not_yet:
        if (attempt.patience->passed() && others_remain()) return "it accepted the connection, but did not answer";
        return std::nullopt;
      case Filled::closed: return "it refused us: no rank of this group listens there";
      case Filled::error: return attempt.socket.problem().empty() ? std::strerror(errno) : attempt.socket.problem();
      case Filled::malformed: return reader_.problem();
      case Filled::yes: break;
    }
    Hello answer = reader_.hello();
    if (answer.kind == HelloKind::refusal) return refusal_in(reader_.authentication());
    const HelloKind kind = std::exchange(answer.kind, HelloKind::welcome);
    answer.authentication = 0;
    if (!(answer == Hello{HelloKind::welcome, hello_.group, hello_.to, hello_.from, hello_.stream})) {
      return "another group or rank listens there";
    }
    const bool trusted = !challenge_ || proven_;
    if (kind != (trusted ? HelloKind::welcome : HelloKind::challenge)) {
      return trusted ? "it does not answer as it should" : said_by_us(Distrust::needs_secret);
    }
    done_ = trusted;
    if (auto problem = trusted ? std::nullopt : prove(attempt); trusted || problem) return problem;
  }
}

// The challenge has come: that side has to prove first.
std::optional<std::string> Dial::prove(Attempt& attempt) {
  const std::string_view nonce = reader_.authentication().substr(0, Challenge::nonce_bytes);
  if (!challenge_->accepts(reader_.authentication().substr(Challenge::nonce_bytes), nonce)) {
    send_refusal(attempt.socket, hello_, Distrust::other_secret);
    return said_by_us(Distrust::other_secret);
  }
  Hello proof = hello_;
  proof.kind = HelloKind::proof;
  if (!send_hello(attempt.socket, proof, text_of(challenge_->proof(nonce)))) return "it closed the connection";
  proven_ = true;
  reader_ = {};
  return std::nullopt;
}

Handshake Dial::run_out_of_time() {
  timed_out_ = true;
  for (const Attempt& attempt : attempts_) {
    note(attempt.endpoint, attempt.patience ? "it accepted the connection, but did not answer" : "no answer");
  }
  attempts_.clear();
  ++watch_epoch_;
  return Handshake::failed;
}

bool Dial::has_greeted() const {
  return std::ranges::any_of(attempts_, [](const Attempt& attempt) { return attempt.patience.has_value(); });
}

void Dial::watch(std::vector<pollfd>& interests) const {
  for (const Attempt& attempt : attempts_) {
    if (attempt.secured && !attempt.patience) continue;  // accepted, but another one was first
    interests.push_back({attempt.socket.fd(), attempt.connected ? interest_in(attempt.socket) : short{POLLOUT}, 0});
  }
}

Deadline Dial::deadline() const {
  Deadline next = deadline_;
  const auto spoken_to = [](const Attempt& one) { return one.patience.has_value(); };
  const auto greeted = std::find_if(attempts_.begin(), attempts_.end(), spoken_to);
  if (greeted != attempts_.end()) {
    if (others_remain()) next = earlier(next, *greeted->patience);
  } else if (next_ < endpoints_.size()) {
    next = earlier(next, next_at_);
  }
  return next;
}

Greeting::Greeting(UniqueFd fd, const Endpoint& from, const AcceptGuard& guard, const Settings& settings)
    : socket_(std::move(fd), settings.tls, TlsStream::Side::accepted),
      from_(from),
      guard_(&guard),
      deadline_(Deadline::after(stranger_patience)) {}

Handshake Greeting::fail(std::string problem) {
  problem_ = std::move(problem);
  return Handshake::failed;
}

// Says so to the other side, too, which may be a rank that was started wrongly.
Handshake Greeting::distrust(Distrust why) {
  send_refusal(socket_, {HelloKind::refusal, hello_.group, hello_.to, hello_.from, hello_.stream}, why);
  return fail(said_by_us(why));
}

Handshake Greeting::step() {
  if (const auto ended = secure()) return *ended;
  if (const auto ended = read()) return *ended;
  if (challenge_) return take_proof();
  const Handshake now = take_hello();
  if (now != Handshake::waiting) return now;
  reader_ = {};
  const auto ended = read();
  return ended ? *ended : take_proof();
}

// Nothing: that is done.
std::optional<Handshake> Greeting::secure() {
  if (secured_) return std::nullopt;
  switch (socket_.secure()) {
    case TlsStream::Handshake::done: break;
    case TlsStream::Handshake::waiting:
      return deadline_.passed() ? fail("it did not go through with the TLS handshake") : Handshake::waiting;
    case TlsStream::Handshake::failed:
    case TlsStream::Handshake::closed: return fail(socket_.problem());
  }
  secured_ = true;
  return std::nullopt;
}

// Nothing: a frame has come.
std::optional<Handshake> Greeting::read() {
  switch (reader_.fill(socket_)) {
    case Filled::yes: return std::nullopt;
    case Filled::not_yet: return deadline_.passed() ? fail("it did not say who it is") : Handshake::waiting;
    case Filled::malformed: return fail(reader_.problem());
    case Filled::closed:
    case Filled::error: break;
  }
  return fail(reader_.began() || challenge_ ? "it left in the middle of its greeting" : "");
}

// Before this side proves anything, the newcomer has to look for this rank of this group.
Handshake Greeting::take_hello() {
  hello_ = reader_.hello();
  if (hello_.kind != HelloKind::hello) return fail("its greeting is not a hello");
  if (std::string objection = guard_->objection(hello_.group, hello_.from, hello_.to); !objection.empty()) {
    return fail(std::move(objection));
  }
  their_nonce_ = reader_.authentication();
  if (guard_->secret().empty()) return their_nonce_.empty() ? Handshake::done : distrust(Distrust::has_no_secret);
  if (their_nonce_.empty()) return distrust(Distrust::needs_secret);
  challenge_.emplace(guard_->secret(), Challenge::Side::answers, context_of(hello_));
  const Hello answer{HelloKind::challenge, hello_.group, hello_.to, hello_.from, hello_.stream};
  std::string authentication(challenge_->nonce());
  authentication += text_of(challenge_->proof(their_nonce_));
  return send_hello(socket_, answer, authentication) ? Handshake::waiting : fail("it left");
}

Handshake Greeting::take_proof() {
  const Hello& frame = reader_.hello();
  if (frame.kind == HelloKind::refusal) return fail(refusal_in(reader_.authentication()));
  Hello right = hello_;
  right.kind = HelloKind::proof;
  right.authentication = Challenge::proof_bytes;
  const bool proves = frame == right && challenge_->accepts(reader_.authentication(), their_nonce_);
  return proves ? Handshake::done : distrust(Distrust::other_secret);
}

Socket Greeting::welcome(Rank self, const Settings& settings) && {
  char byte;
  const bool gone = ::recv(socket_.fd(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
  const Hello answer{HelloKind::welcome, hello_.group, self, hello_.from, hello_.stream};
  if (gone || !send_hello(socket_, answer)) return {};
  tune(socket_.fd(), settings);
  return std::move(socket_);
}

}  // namespace hocket::tcp
