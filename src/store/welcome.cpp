#include "src/store/welcome.hpp"

#include <fmt/format.h>
#include <poll.h>

#include "src/base/printable.hpp"
#include "src/base/socket_owner.hpp"

namespace hocket::store {
namespace {

using wire::Authentication;
using wire::Verdict;

// With this text, a server welcomes whoever comes.
constexpr std::string_view open_to_all = "open to all";

Welcome::Answer refusal_answer(Distrust why) {
  return {Verdict::untrusted, said_to_us(why), said_by_us(why)};
}

Status distrusted(Distrust why) {
  return {Code::mismatch, "what listens there is not trusted: " + said_by_us(why)};
}

// Of a refusal.
Code code_of(Verdict verdict) {
  if (verdict == Verdict::untrusted) return Code::mismatch;
  return verdict == Verdict::starved ? Code::out_of_resources : Code::protocol_error;
}

wire::Greeting greeting_of(Authentication word, std::string_view text = {}) {
  return {.word = static_cast<std::uint16_t>(word), .text = text};
}

// Of a server, where there is no secret.
bool has_ended(int socket) {
  pollfd entry{socket, POLLRDHUP, 0};
  return ::poll(&entry, 1, 0) > 0;
}

Status check_owner(int socket) {
  switch (owner_of_peer(socket)) {
    case PeerOwner::own: break;
    case PeerOwner::another_user:
      // What has closed its end is nobody's: a store whose process has just ended, perhaps, and which may come back.
      if (has_ended(socket))
        return {Code::store_unreachable, "it closed the connection before it was seen whose it is"};
      return distrusted(Distrust::other_owner);
    case PeerOwner::unknown:
      return {Code::out_of_resources,
              "no file descriptor is left to ask whose process it is; raise the limit (ulimit -n)"};
    case PeerOwner::another_host:
      return {Code::invalid_environment,
              fmt::format("the ranks are on several hosts (or network namespaces), and nothing proves who belongs to "
                          "the job: {}",
                          how_to_be_trusted)};
  }
  return {};
}

}  // namespace

Welcome::Answer Welcome::take(const wire::Greeting& greeting, int socket) {
  const auto authentication = static_cast<Authentication>(greeting.word);
  if (challenge_) {
    if (authentication == Authentication::refusal) {
      Answer answer = refusal_answer(Distrust::other_secret);
      answer.tells_client = false;
      return answer;
    }
    const bool proves = authentication == Authentication::proof && challenge_->accepts(greeting.text, their_nonce_);
    return proves ? Answer{} : refusal_answer(Distrust::other_secret);
  }
  if (authentication == Authentication::none) {
    if (!trust_->secret.empty()) return refusal_answer(Distrust::needs_secret);
    if (trust_->insecure) return {.text = std::string(open_to_all)};
    if (trust_->tls) return {};  // its certificate says who it is
    const PeerOwner owner = owner_of_peer(socket);
    if (owner == PeerOwner::unknown)
      return {.verdict = Verdict::starved,
              .problem = "no file descriptor is left to ask whose it is; raise the limit (ulimit -n)"};
    return owner == PeerOwner::own ? Answer{} : refusal_answer(Distrust::other_owner);
  }
  if (authentication != Authentication::number || greeting.text.size() != Challenge::nonce_bytes) {
    const std::string_view text = "the client wants an authentication that the store does not know";
    return {Verdict::refused, std::string(text), std::string(text)};
  }
  if (trust_->secret.empty()) return refusal_answer(Distrust::has_no_secret);
  their_nonce_ = greeting.text;
  challenge_.emplace(trust_->secret, Challenge::Side::answers, wire::challenge_context());
  std::string text(challenge_->nonce());
  text += text_of(challenge_->proof(their_nonce_));
  return {Verdict::challenge, std::move(text)};
}

Introduction::Introduction(const Trust& trust) : trust_(&trust) {
  if (!trust.secret.empty()) challenge_.emplace(trust.secret, Challenge::Side::dials, wire::challenge_context());
}

wire::Greeting Introduction::first() const {
  return challenge_ ? greeting_of(Authentication::number, challenge_->nonce()) : wire::Greeting();
}

Introduction::Step Introduction::take(const wire::Greeting& greeting, int socket) {
  const auto verdict = static_cast<Verdict>(greeting.word);
  const bool trusted = !challenge_ || proven_;
  if (verdict == Verdict::challenge && !trusted) return take_challenge(greeting.text);
  if (!challenge_ && !trust_->insecure) {
    const Status owner = trust_->tls ? Status() : check_owner(socket);
    // One that refuses has closed its end, which is nobody's then; but its host is known even so.
    const bool known = verdict == Verdict::welcome || owner.code() == Code::invalid_environment;
    if (!owner.ok() && known) return {.refused = owner};
    if (verdict == Verdict::welcome && greeting.text == open_to_all) {
      return {.refused = Status(Code::invalid_environment,
                                fmt::format("the store lets everyone in (HOCKET_INSECURE): {}", how_to_be_trusted))};
    }
  }
  if (verdict == Verdict::welcome && trusted) return {.welcome = true};
  if (verdict == Verdict::welcome) return {.refused = distrusted(Distrust::needs_secret)};
  return {.refused =
              Status(code_of(verdict), fmt::format("the store refused this client: {}", printable(greeting.text)))};
}

Introduction::Step Introduction::take_challenge(std::string_view text) {
  const std::string_view nonce = text.substr(0, Challenge::nonce_bytes);
  proven_ = challenge_->accepts(text.substr(nonce.size()), nonce);
  if (!proven_) {
    return {.next = greeting_of(Authentication::refusal), .refused = distrusted(Distrust::other_secret)};
  }
  proof_ = challenge_->proof(nonce);
  return {.next = greeting_of(Authentication::proof, text_of(proof_))};
}

}  // namespace hocket::store
