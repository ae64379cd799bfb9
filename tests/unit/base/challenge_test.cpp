// Proofs that fit one connection, one side and one secret.
#include "src/base/challenge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "src/base/trust.hpp"

namespace hocket {
namespace {

using Side = Challenge::Side;

const std::string secret = "what the ranks of this job know";
const std::string context = "a connection from 1 to 0";

// RFC 4231, test cases 2 and 6: a short key, and one that is longer than a block.
TEST(Challenge, TheMacIsThatOfTheStandard) {
  EXPECT_EQ(hexadecimal(text_of(hmac_sha_256("Jefe", "what do ya want for nothing?"))),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hexadecimal(text_of(
                hmac_sha_256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"))),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Challenge, BothSidesProveThatTheyKnowTheSecret) {
  const Challenge dials(secret, Side::dials, context), answers(secret, Side::answers, context);
  EXPECT_TRUE(dials.accepts(text_of(answers.proof(dials.nonce())), answers.nonce()));
  EXPECT_TRUE(answers.accepts(text_of(dials.proof(answers.nonce())), dials.nonce()));
}

TEST(Challenge, AnotherSecretOrConnectionProvesNothing) {
  const Challenge answers(secret, Side::answers, context);
  for (const Challenge& dials :
       {Challenge(secret + '\n', Side::dials, context), Challenge(secret, Side::dials, context + '0')}) {
    EXPECT_FALSE(answers.accepts(text_of(dials.proof(answers.nonce())), dials.nonce()));
  }
}

TEST(Challenge, AProofThatIsReflectedProvesNothing) {
  const Challenge answers(secret, Side::answers, context);
  const Challenge other(secret, Side::answers, context);
  // To the side that made it, with its own number or with another; and by way of a second connection.
  EXPECT_FALSE(answers.accepts(text_of(answers.proof(answers.nonce())), answers.nonce()));
  EXPECT_FALSE(answers.accepts(text_of(answers.proof(other.nonce())), other.nonce()));
  EXPECT_FALSE(answers.accepts(text_of(other.proof(answers.nonce())), other.nonce()));
}

TEST(Challenge, AProofThatIsReplayedProvesNothing) {
  const Challenge dials(secret, Side::dials, context), answers(secret, Side::answers, context);
  const Mac proof = dials.proof(answers.nonce());
  EXPECT_TRUE(answers.accepts(text_of(proof), dials.nonce()));
  EXPECT_FALSE(Challenge(secret, Side::answers, context).accepts(text_of(proof), dials.nonce()));
}

TEST(Challenge, NumbersAreFresh) {
  std::set<std::string, std::less<>> seen;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(seen.emplace(Challenge(secret, Side::dials, context).nonce()).second);
}

TEST(Challenge, WhatHasAnotherLengthProvesNothing) {
  const Challenge dials(secret, Side::dials, context), answers(secret, Side::answers, context);
  const Mac proof = dials.proof(answers.nonce());
  const std::string_view whole = text_of(proof);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_FALSE(answers.accepts(whole.substr(0, bytes), dials.nonce()));
  }
  EXPECT_FALSE(answers.accepts(std::string(whole) + '\0', dials.nonce()));
  EXPECT_FALSE(answers.accepts(whole, dials.nonce().substr(1)));
}

TEST(Challenge, ReasonsTravelAsNumbersAndSayWhatToDo) {
  EXPECT_FALSE(distrust_of(0).has_value());
  EXPECT_FALSE(distrust_of(5).has_value());
  for (unsigned number = 1; number <= 4; ++number) {
    const auto why = distrust_of(number);
    ASSERT_TRUE(why.has_value());
    EXPECT_THAT(said_by_us(*why), ::testing::HasSubstr("HOCKET_SECRET"));
    EXPECT_THAT(said_to_us(*why), ::testing::HasSubstr("HOCKET_SECRET"));
  }
}

}  // namespace
}  // namespace hocket
