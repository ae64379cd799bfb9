#include "src/base/challenge.hpp"

// The functions of the digest alone, which OpenSSL 3 would have replaced by those for any digest: these take a
// microsecond, but those first load a configuration file and all algorithms, which takes every rank a millisecond.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <utility>

#include "src/base/random.hpp"

namespace hocket {
namespace {

constexpr std::string_view remedy = "give all processes of the job the same HOCKET_SECRET or HOCKET_SECRET_FILE";

// Of the two, one after the other.
Mac sha_256(std::string_view begin, std::string_view end) {
  Mac digest;
  SHA256_CTX context;
  SHA256_Init(&context);
  SHA256_Update(&context, begin.data(), begin.size());
  SHA256_Update(&context, end.data(), end.size());
  SHA256_Final(reinterpret_cast<unsigned char*>(digest.data()), &context);
  return digest;
}

}  // namespace

// RFC 2104: H(outer key, H(inner key, message)).
Mac hmac_sha_256(std::string_view key, std::string_view message) {
  std::array<char, SHA256_CBLOCK> inner{}, outer{};
  const Mac short_key = key.size() > inner.size() ? sha_256(key, {}) : Mac{};
  if (key.size() > inner.size()) key = text_of(short_key);
  key.copy(inner.data(), key.size());
  for (std::size_t i = 0; i < inner.size(); ++i) {
    outer[i] = static_cast<char>(inner[i] ^ 0x5c);
    inner[i] = static_cast<char>(inner[i] ^ 0x36);
  }
  return sha_256({outer.data(), outer.size()}, text_of(sha_256({inner.data(), inner.size()}, message)));
}

Challenge::Challenge(std::string secret, Side own, std::string context)
    : secret_(std::move(secret)), own_(own), context_(std::move(context)), nonce_(nonce_bytes, '\0') {
  fill_randomly(nonce_);
}

// All before the context has a fixed length, so no two messages run together.
Mac Challenge::proof_of(Side side, std::string_view theirs) const {
  std::string message = "hocket proof 1 ";
  message += static_cast<char>(side);
  message += own_ == Side::dials ? std::string_view(nonce_) : theirs;
  message += own_ == Side::dials ? theirs : std::string_view(nonce_);
  message += context_;
  return hmac_sha_256(secret_, message);
}

bool Challenge::accepts(std::string_view proof, std::string_view theirs) const {
  if (proof.size() != proof_bytes || theirs.size() != nonce_bytes) return false;
  const Mac right = proof_of(own_ == Side::dials ? Side::answers : Side::dials, theirs);
  return CRYPTO_memcmp(proof.data(), right.data(), right.size()) == 0;
}

std::optional<Distrust> distrust_of(unsigned number) {
  const auto last = static_cast<unsigned>(Distrust::other_owner);
  return number >= 1 && number <= last ? std::optional(static_cast<Distrust>(number)) : std::nullopt;
}

std::string said_by_us(Distrust why) {
  std::string text;
  switch (why) {
    case Distrust::needs_secret: text = "it has no secret, but this process has one: "; break;
    case Distrust::has_no_secret: text = "it has a secret, but this process has none: "; break;
    case Distrust::other_secret: text = "it does not know this process's secret: "; break;
    case Distrust::other_owner: text = "there is no secret, and it belongs to another user or host: "; break;
  }
  return text.append(remedy);
}

std::string said_to_us(Distrust why) {
  std::string text;
  switch (why) {
    case Distrust::needs_secret: text = "it has a secret, but this process has none: "; break;
    case Distrust::has_no_secret: text = "it has no secret, but this process has one: "; break;
    case Distrust::other_secret: text = "its secret is another than this process's: "; break;
    case Distrust::other_owner: text = "there is no secret, and this process belongs to another user or host: "; break;
  }
  return text.append(remedy);
}

}  // namespace hocket
