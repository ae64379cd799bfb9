// Challenge: one side of a connection's beginning, in which both sides prove that they know one secret without showing
// it. Each draws a number, and each proves with an HMAC-SHA-256 (RFC 2104) of both numbers, its side and the context:
// what both know of the connection, such as its ranks and the version of the protocol. So no proof fits another
// connection, the other side or another protocol. Without sockets: who carries the numbers is the caller's business.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace hocket {

using Mac = std::array<char, 32>;
inline std::string_view text_of(const Mac& mac) {
  return {mac.data(), mac.size()};
}
Mac hmac_sha_256(std::string_view key, std::string_view message);

class Challenge {
 public:
  enum class Side : char { dials = 'd', answers = 'a' };
  static constexpr std::size_t nonce_bytes = 32;
  static constexpr std::size_t proof_bytes = sizeof(Mac);

  // Draws a fresh number. `secret` is not empty.
  Challenge(std::string secret, Side own, std::string context);

  // What the other side has to use in its proof.
  std::string_view nonce() const { return nonce_; }
  // Of this side; `theirs`: the other side's number.
  Mac proof(std::string_view theirs) const { return proof_of(own_, theirs); }
  // Whether the other side, with that number, has proved to know the secret. Takes the same time for any wrong one.
  bool accepts(std::string_view proof, std::string_view theirs) const;

 private:
  Mac proof_of(Side side, std::string_view theirs) const;

  std::string secret_;
  Side own_;
  std::string context_;
  std::string nonce_;
};

// Why one side does not let the other in; as a number it travels, and whoever gets it trusts nothing else in it.
enum class Distrust : unsigned char {
  needs_secret = 1,  // the other side proves nothing, and this one has a secret
  has_no_secret,     // the other way round
  other_secret,      // the other side's proof is wrong
  other_owner,       // there is no secret, and the other side belongs to another user or host
};
// Nothing where it is none.
std::optional<Distrust> distrust_of(unsigned number);
// "this side has a secret and the other one none: give all processes of the job the same HOCKET_SECRET", for the log of
// the side that distrusts, and for the one that is distrusted.
std::string said_by_us(Distrust why);
std::string said_to_us(Distrust why);

}  // namespace hocket
