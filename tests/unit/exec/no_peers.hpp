// For direct operations, which need no links.
#pragma once

#include <optional>
#include <vector>

#include "src/exec/peers.hpp"

namespace hocket::testing_support {

class NoPeers final : public Peers {
 public:
  Result<Link*> link(Rank, Deadline) override { return Status(Code::internal, "a direct operation wants a link"); }
  Rank size() const override { return 0; }
  void listen(bool) override {}
  std::optional<Tag> probe(Rank) override { return std::nullopt; }
  std::size_t progress() override { return 0; }
  bool arm(std::vector<pollfd>&) override { return true; }
  void disarm() override {}
  void watch(std::vector<pollfd>&) override {}
  std::optional<Deadline> next_deadline() const override { return std::nullopt; }
  std::uint64_t watch_epoch() const override { return 0; }
  void close(const Status&) override {}
};

}  // namespace hocket::testing_support
