#include "tests/process/support/device_rank.hpp"

#include "src/comm/validate.hpp"
#include "tests/process/support/last_call.hpp"

namespace hocket::process_testing {
namespace {

// A buffer on the host or on the device.
class Place {
 public:
  Place(DeviceRank& rank, const Bytes& contents, bool on_device) : host_(contents) {
    if (on_device) device_ = std::make_unique<DeviceBuffer>(rank, contents);
  }
  std::byte* at() { return device_ ? device_->at() : host_.data(); }
  Bytes read() { return device_ ? device_->read() : host_; }

 private:
  Bytes host_;
  std::unique_ptr<DeviceBuffer> device_;
};

std::uint64_t salt_of(const DeviceCase& what, Rank rank) {
  return static_cast<std::uint64_t>(rank) * 7919 + what.count * 31 + static_cast<std::uint64_t>(what.root);
}

Bytes issue(DeviceRank& rank, const DeviceCase& what, bool on_host) {
  const Rank self = rank.rank(), size = rank.size();
  const auto [send_bytes, recv_bytes, in_place_at] = bytes_of(what, self, size);
  const Bytes input = some_elements(what.dtype, send_bytes / size_of(what.dtype), salt_of(what, self));
  const Bytes before(recv_bytes, std::byte{0xaa});
  const hocket_call_options options = rank.options();
  const auto call = [&](const void* send, void* recv) {
    EXPECT_EQ(hocket_call(static_cast<hocket_collective>(what.collective), send, recv, what.count,
                          static_cast<hocket_dtype>(what.dtype), static_cast<hocket_op>(what.op), what.root,
                          rank.comm(), &options, nullptr),
              HOCKET_OK)
        << hocket_last_error();
  };
  if (what.in_place && send_bytes != 0 && recv_bytes != 0) {
    const bool sends_more = send_bytes > recv_bytes;
    Bytes contents = sends_more ? input : before;
    if (!sends_more) std::copy(input.begin(), input.end(), contents.begin() + static_cast<std::ptrdiff_t>(in_place_at));
    Place both(rank, contents, what.send_on_device && !on_host);
    std::byte* const inner = both.at() + in_place_at;
    call(sends_more ? both.at() : inner, sends_more ? inner : both.at());
    Bytes found = both.read();
    if (sends_more) {
      found.erase(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(in_place_at));
      found.resize(recv_bytes);
    }
    return found;
  }
  Place send(rank, input, what.send_on_device && !on_host), recv(rank, before, what.recv_on_device && !on_host);
  call(send_bytes != 0 ? send.at() : nullptr, recv_bytes != 0 ? recv.at() : nullptr);
  EXPECT_EQ(send.read(), input) << "the input is read only";
  return recv.read();
}

}  // namespace

DeviceCallBytes bytes_of(const DeviceCase& what, Rank rank, Rank size) {
  const CollectiveInfo& collective = info_of(what.collective);
  const comm::Blocks blocks = comm::blocks_of(collective, rank, what.root, size);
  const std::size_t block = what.count * size_of(what.dtype);
  const std::size_t at = blocks.send == blocks.recv ? 0 : collective.block_in_place(rank) * block;
  return {blocks.send * block, blocks.recv * block, at};
}

std::string expect_same_as_on_host(DeviceRank& rank, const DeviceCase& what) {
  const ::testing::ScopedTrace trace(__FILE__, __LINE__,
                                     std::string(name_of(what.collective)) + " of " + std::to_string(what.count) + " " +
                                         std::string(name_of(what.dtype)) + (what.in_place ? ", in place" : "") +
                                         ", root " + std::to_string(what.root));
  const Bytes expected = issue(rank, what, true);
  const Bytes found = issue(rank, what, false);
  EXPECT_EQ(found.size(), expected.size());
  EXPECT_TRUE(found == expected) << "other bits than on the host";
  return algorithm_of_last_call();
}

}  // namespace hocket::process_testing
