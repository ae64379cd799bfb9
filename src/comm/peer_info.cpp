#include "src/comm/peer_info.hpp"

#include <fmt/format.h>

#include <cstring>

#include "hocket/types.h"

namespace hocket::comm {
namespace {

// Strings behind a two-byte length, one after the other.
void put(std::string& out, std::string_view text) {
  out.push_back(static_cast<char>(text.size() & 0xff));
  out.push_back(static_cast<char>(text.size() >> 8));
  out.append(text);
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  std::string take() {
    if (rest_.size() < 2) return fail();
    const std::size_t length = static_cast<unsigned char>(rest_[0]) + 256U * static_cast<unsigned char>(rest_[1]);
    if (rest_.size() < 2 + length) return fail();
    std::string text(rest_.substr(2, length));
    rest_.remove_prefix(2 + length);
    return text;
  }
  bool empty() const { return rest_.empty(); }
  bool good() const { return good_; }

 private:
  std::string fail() {
    good_ = false;
    rest_ = {};
    return {};
  }
  std::string_view rest_;
  bool good_ = true;
};

}  // namespace

std::string PeerInfo::serialise() const {
  std::string out;
  put(out, host);
  put(out, algorithm);
  put(out, tuning);
  put(out, deterministic ? "1" : "0");
  put(out, name_of(speed));
  put(out, cores.text());
  for (const Endpoint& endpoint : endpoints) {
    put(out, endpoint.transport);
    put(out, endpoint.address);
  }
  return out;
}

Result<PeerInfo> PeerInfo::parse(std::string_view bytes) {
  Reader reader(bytes);
  PeerInfo info;
  info.host = reader.take();
  info.algorithm = reader.take();
  info.tuning = reader.take();
  info.deterministic = reader.take() == "1";
  const auto speed = find_by_name(all_network_speeds, reader.take());
  const auto cores = CoreSet::parse(reader.take());
  while (!reader.empty()) {
    Endpoint endpoint{.transport = reader.take(), .address = reader.take()};
    info.endpoints.push_back(std::move(endpoint));
  }
  if (!reader.good() || !speed || !cores) {
    return Status(Code::protocol_error, "a rank's entry in the store is damaged; use a store of this job alone");
  }
  info.speed = *speed;
  info.cores = *cores;
  return info;
}

PeerInfoBlock peer_info_block(std::span<std::byte> all, Rank rank) {
  return PeerInfoBlock(all.data() + static_cast<std::size_t>(rank) * peer_info_bytes_max, peer_info_bytes_max);
}

// A block: two bytes of length, one with the code (0: a PeerInfo follows), the text.
Status write_peer_info(PeerInfoBlock block, const Result<PeerInfo>& info) {
  constexpr std::size_t room = peer_info_bytes_max - 3;
  const std::string text = info.ok() ? info->serialise() : info.status().message().substr(0, room);
  if (text.size() > room) {
    return {Code::internal,
            fmt::format("this rank's addresses take {} bytes, more than the {} that fit", text.size(), room)};
  }
  block[0] = static_cast<std::byte>(text.size() & 0xff);
  block[1] = static_cast<std::byte>(text.size() >> 8);
  block[2] = static_cast<std::byte>(info.status().code());
  std::memcpy(block.data() + 3, text.data(), text.size());
  return {};
}

Result<PeerInfo> read_peer_info(PeerInfoBlock block) {
  const std::size_t length = std::to_integer<std::size_t>(block[0]) + 256 * std::to_integer<std::size_t>(block[1]);
  const auto code = std::to_integer<int>(block[2]);
  if (length + 3 > block.size() || code > HOCKET_INTERNAL) {
    return Status(Code::protocol_error, "what a rank told about itself is damaged");
  }
  const std::string_view text(reinterpret_cast<const char*>(block.data()) + 3, length);
  if (code != HOCKET_OK) return Status(static_cast<Code>(code), std::string(text));
  return PeerInfo::parse(text);
}

}  // namespace hocket::comm
