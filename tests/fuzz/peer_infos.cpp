// What ranks tell about themselves when they meet, in the store and round the ring.
#include <algorithm>

#include "src/comm/peer_info.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/support/some_peer_info.hpp"
#include "transports/shm/handshake.hpp"

namespace hocket::fuzz {
namespace {

using comm::PeerInfo;

bool look_at(const Result<PeerInfo>& info) {
  if (!info) return false;
  if (info->build.protocol != comm::BuildIdentity::own().protocol) return false;  // the rest is not read
  const auto again = PeerInfo::parse(info->serialise());
  require(again.ok() && *again == *info);
  for (const comm::Endpoint& endpoint : info->endpoints) (void)shm::on_one_kernel(endpoint.address, "2 on a");
  return true;
}

bool run_block(std::string_view input) {
  std::vector<std::byte> bytes(comm::peer_info_bytes_max);
  const auto text = std::as_bytes(std::span(input.data(), std::min(input.size(), bytes.size())));
  std::copy(text.begin(), text.end(), bytes.begin());
  return look_at(comm::read_peer_info(comm::peer_info_block(bytes, 0)));
}

bool run(std::string_view input) {
  return choose(input, 2) == 0 ? look_at(PeerInfo::parse(input)) : run_block(input);
}

std::vector<std::string> seeds() {
  const PeerInfo info = testing_support::some_peer_info();
  std::vector<std::byte> block(comm::peer_info_bytes_max);
  require(comm::write_peer_info(comm::peer_info_block(block, 0), info).ok());
  const std::string text = info.serialise();
  return {chosen(0, text), chosen(1, {reinterpret_cast<const char*>(block.data()), text.size() + 3})};
}

}  // namespace

const Target peer_infos{"peer_infos", run, seeds};

}  // namespace hocket::fuzz
