#include "src/comm/peer_info.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "hocket/types.h"
#include "src/base/bytes.hpp"
#include "src/base/failure_code.hpp"
#include "src/base/printable.hpp"

namespace hocket::comm {
namespace {

// Texts behind a two-byte length, one after the other.
void put(std::string& out, std::string_view text) {
  append(out, static_cast<std::uint16_t>(text.size()));
  out += text;
}

std::string take(ByteReader& from) {
  return std::string(from.text(from.take<std::uint16_t>()));
}

void put(std::string& out, const std::vector<Endpoint>& endpoints) {
  append(out, static_cast<std::uint8_t>(endpoints.size()));
  for (const Endpoint& endpoint : endpoints) {
    put(out, endpoint.transport);
    put(out, endpoint.address);
  }
}

std::vector<Endpoint> take_endpoints(ByteReader& from) {
  std::vector<Endpoint> endpoints;
  for (auto left = from.take<std::uint8_t>(); left > 0 && from.ok(); --left) {
    Endpoint endpoint{.transport = take(from), .address = take(from)};
    endpoints.push_back(std::move(endpoint));
  }
  return endpoints;
}

}  // namespace

std::string PeerInfo::serialise() const {
  std::string out;
  append(out, build);
  put(out, host);
  put(out, algorithm);
  put(out, tuning);
  put(out, deterministic ? "1" : "0");
  put(out, name_of(speed));
  put(out, cores.text());
  put(out, process.process > 0 ? process.serialise() : "");
  put(out, endpoints);
  put(out, standby);
  return out;
}

Result<PeerInfo> PeerInfo::parse(std::string_view bytes) {
  ByteReader from(bytes);
  PeerInfo info;
  info.build = from.take<BuildIdentity>();
  if (from.ok() && info.build.protocol != BuildIdentity::own().protocol) return info;  // the rest may mean anything
  info.host = take(from);
  info.algorithm = take(from);
  info.tuning = take(from);
  info.deterministic = take(from) == "1";
  const auto speed = find_by_name(all_network_speeds, take(from));
  const auto cores = CoreSet::parse(take(from));
  const std::string process_text = take(from);
  const auto process = process_text.empty() ? ProcessIdentity() : ProcessIdentity::parse(process_text);
  info.endpoints = take_endpoints(from);
  info.standby = take_endpoints(from);
  if (!from.ok() || from.left() != 0 || !speed || !cores || !process) {
    return Status(Code::protocol_error, "a rank's entry in the store is damaged; use a store of this job alone");
  }
  info.speed = *speed;
  info.cores = *cores;
  info.process = *process;
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
  ByteWriter to(block.data());
  to.put(static_cast<std::uint16_t>(text.size()));
  to.put(static_cast<std::uint8_t>(info.status().code()));
  to.put_text(text);
  return {};
}

Result<PeerInfo> read_peer_info(PeerInfoBlock block) {
  ByteReader from(block);
  const auto length = from.take<std::uint16_t>();
  const auto code = from.take<std::uint8_t>();
  const std::string_view text = from.text(length);
  if (!from.ok() || (code != HOCKET_OK && !is_failure(code))) {
    return Status(Code::protocol_error, "what a rank told about itself is damaged");
  }
  if (code != HOCKET_OK) return Status(static_cast<Code>(code), printable(text, peer_info_bytes_max));
  return PeerInfo::parse(text);
}

Result<std::vector<Result<PeerInfo>>> exchange_peer_infos(
    Rank rank, Rank size, const Result<PeerInfo>& mine, const std::function<Status(std::span<std::byte>)>& allgather) {
  std::vector<std::byte> all(static_cast<std::size_t>(size) * peer_info_bytes_max);
  const PeerInfoBlock own = peer_info_block(all, rank);
  if (const Status fits = write_peer_info(own, mine); !fits.ok()) (void)write_peer_info(own, fits);
  if (Status status = allgather(all); !status.ok()) return status;
  std::vector<Result<PeerInfo>> told;
  for (Rank other = 0; other < size; ++other) told.push_back(read_peer_info(peer_info_block(all, other)));
  return told;
}

}  // namespace hocket::comm
