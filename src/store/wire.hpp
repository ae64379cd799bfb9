// The store's wire protocol, version 4. Over one TCP connection; every number is little endian.
//
// Greeting. The client speaks first, then the server; both in this form, of 16 bytes and then `bytes` more:
//     magic[8]   u16 version   u16 word   u32 bytes   text[bytes]
//   From the client the magic is "hktstor?" and the word an Authentication; from the server the magic is "hktstor!" and
//   the word a Verdict. Whatever follows a refusal, whose text explains it, is the end of the connection. A server
//   welcomes its own version only. Where there is a secret, each side speaks twice, and proves to the other that it
//   knows it (src/base/challenge.hpp): the client's number, the server's number and proof, the client's proof, the
//   welcome.
//
// Frames. After the welcome, in both directions: u32 length, then `length` bytes. A length of 0 or above the bound of
//   its direction ends the connection.
//   Request:   u64 id   u8 operation   u16 key_bytes   key   then, by operation,
//       set               the value, to the end of the frame
//       get, peek, remove nothing
//       add               i64 delta
//       compare_and_set   u8 has_expected   u32 expected_bytes   expected   the desired value, to the end of the frame
//       list              the key to continue after (empty: from the first), to the end of the frame; the key is the
//                         prefix and may be empty
//       cancel            nothing, and an empty key: forget the get or allgather with this id. Has no response
//       claim             as compare_and_set, but for u16 heir_bytes   heir   u16 bequest_bytes   bequest   before the
//                         desired value. Where it sets the key, that is removed when this connection ends, unless
//                         another connection has claimed it since; then the key `heir`, if it is not empty and absent,
//                         is set to `bequest`
//       allgather         u32 members, at least 1   u32 member, below that   u16 outcome_bytes   outcome
//                         u16 complete_bytes   complete   u32 wanted, at most 65,536   that many u32 members
//                         the value, to the end of the frame; the key is the prefix. Claims the key that is the prefix
//                         with the member in decimal, as claim does, whatever it held. As soon as so many keys as there
//                         are members begin with the prefix, the key `outcome`, if it is absent, is set to `complete`.
//   Response:  u64 id   u8 code   payload, to the end of the frame.
//     The code is 0 (ok), 14 (not_found: absent) or another number of hocket_result with its message as the payload.
//       set               ok
//       get               ok, the value; sent as soon as the key exists
//       peek              ok, the value; or not_found
//       add               ok, i64 sum
//       compare_and_set   ok, the value before; or not_found: it was absent
//       remove            ok: it was there; or not_found
//       claim             as compare_and_set
//       allgather         ok, u32 outcome_bytes, outcome, then for each wanted member u8 present, u32 value_bytes,
//                         value; sent as soon as the key `outcome` exists
//       list              ok, u8 more, then for each key u16 key_bytes, key. `more` says that keys are left: ask again
//                         with the last one to continue after
//   Ids are the client's choice and name requests that are not answered yet. Responses come in any order; requests take
//   effect in theirs.
//
// All functions here are pure. Parsers take what came from outside, trust nothing in it and never read beyond it. What
// they return points into their argument.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/spi/store.hpp"

namespace hocket::store::wire {

inline constexpr std::uint16_t version = 4;
inline constexpr std::string_view client_magic = "hktstor?";
inline constexpr std::string_view server_magic = "hktstor!";
inline constexpr std::size_t greeting_bytes = 16;
inline constexpr std::size_t greeting_text_bytes_max = 4096;

enum class Verdict : std::uint16_t {
  welcome = 0,
  other_version = 1,
  refused = 2,
  challenge = 3,  // text: the server's number and its proof
  untrusted = 4,  // a refusal, because one side does not trust the other
  starved = 5,    // a refusal, because the server's process lacks descriptors; text: what its limit should be
};
enum class Authentication : std::uint16_t {
  none = 0,
  number = 1,   // text: the client's number
  proof = 2,    // text: the client's proof; after a challenge
  refusal = 3,  // text: none; after a challenge whose proof is wrong
};
// What both sides of a challenge know.
std::string challenge_context();

struct Greeting {
  std::uint16_t version = wire::version;
  std::uint16_t word = 0;
  std::string_view text = {};

  std::size_t size() const { return greeting_bytes + text.size(); }  // on the wire
};

// The end of the text of a refusal after which a client may try again.
inline constexpr std::string_view no_room =
    "it has no room for another client now; close some, or raise its limit (ulimit -n, hocket-store --max-clients)";

enum class Operation : std::uint8_t {
  set = 1,
  get,
  peek,
  add,
  compare_and_set,
  remove,
  list,
  cancel,
  claim,
  allgather
};
std::string_view name_of(Operation operation);

struct Meeting {
  std::uint32_t members = 1, member = 0;
  std::string_view outcome = {}, complete = {};
  std::string_view wanted = {};  // members, four bytes each
};

struct Request {
  std::uint64_t id = 0;
  Operation operation = Operation::get;
  std::string_view key = {};    // list, allgather: the prefix
  std::string_view value = {};  // set, allgather: the value; compare_and_set, claim: the desired value; list: the key
                                // to continue after
  std::optional<std::string_view> expected = std::nullopt;
  std::int64_t delta = 0;
  Meeting meeting = {};  // allgather
  Bequest bequest = {};  // claim
};

struct Response {
  std::uint64_t id = 0;
  Code code = Code::ok;
  std::string_view payload = {};
};

inline constexpr std::size_t frame_head_bytes = 4;
inline constexpr std::size_t request_bytes_max = 64 + 3 * store_key_bytes_max + 2 * store_value_bytes_max;
inline constexpr std::size_t wanted_max = 65536;
static_assert(request_bytes_max >= 64 + 3 * store_key_bytes_max + 4 * wanted_max + store_value_bytes_max);
// A page of a list goes a little over the bound of values: its last key and the lengths of keys (which may be one byte
// long) come on top.
inline constexpr std::size_t page_bytes = std::size_t{1} << 18;
// What one allgather returns: the values of all members where these are not very many.
inline constexpr std::size_t gathered_bytes_max = std::size_t{16} << 20;
inline constexpr std::size_t response_bytes_max = 64 + gathered_bytes_max;
static_assert(response_bytes_max >= 64 + store_key_bytes_max + 3 * page_bytes);

std::string encode_greeting(std::string_view magic, const Greeting& greeting);
std::string encode_request(const Request& request);  // a whole frame
// A frame up to its payload of `payload_bytes`, which the caller sends after it.
std::string encode_response_head(std::uint64_t id, Code code, std::size_t payload_bytes);
std::string encode_sum(std::int64_t sum);
std::string encode_wanted(const std::vector<Rank>& members);
std::string encode_gathered(const Allgathered& gathered);
std::string encode_page(const std::vector<std::string>& keys, bool more);

// Nothing: more bytes are needed. Code::protocol_error as soon as it is plain that this is no such greeting.
Result<std::optional<Greeting>> parse_greeting(std::string_view bytes, std::string_view magic);
// The body of the first frame in `bytes` (its head left out). Nothing: more bytes are needed. Code::protocol_error
// where its length is 0 or above `bytes_max`.
Result<std::optional<std::string_view>> parse_frame(std::string_view bytes, std::size_t bytes_max);
// The body of a frame. Code::protocol_error where it is none, or passes a bound of hocket/spi/store.hpp.
Result<Request> parse_request(std::string_view body);
Result<Response> parse_response(std::string_view body);
std::vector<Rank> parse_wanted(std::string_view wanted);
// With as many values as were wanted.
Result<Allgathered> parse_gathered(std::string_view payload, std::size_t wanted);
Result<std::int64_t> parse_sum(std::string_view payload);
// Appends the keys of a page to `keys` and returns whether more are left.
Result<bool> parse_page(std::string_view payload, std::vector<std::string>& keys);

}  // namespace hocket::store::wire
