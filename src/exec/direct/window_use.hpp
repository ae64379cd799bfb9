// What the operations on one window share.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "src/base/hash.hpp"
#include "src/exec/direct/announcement.hpp"
#include "src/plan/direct/path.hpp"
#include "src/plan/direct/staging.hpp"
#include "src/spi/transport.hpp"
#include "src/spi/window.hpp"

namespace hocket {

class GpuWindow;

struct WindowUse {
  Window* window = nullptr;
  DirectSetting setting = {};                // but for staging_bytes, which the window says
  const TransportListener* names = nullptr;  // of communicators, for messages
  std::shared_ptr<GpuWindow> gpu = {};       // for data in memory of a GPU that the members share

  std::uint64_t turn = 0;     // of the operation begun last
  std::uint64_t counted = 0;  // how many operations have used StageCounts: those that take more than announcements
  std::vector<std::uint64_t> heard = {};  // by member: up to which turn its calls have been checked
  std::uint64_t everyone_heard = 0;       // at most the least of these
  struct Call {
    Signature signature;
    std::uint32_t communicator = 0;
    std::uint32_t sequence = 0;  // its number in its communicator, where calls over links are counted too
    std::uint32_t digest = 0;    // of all calls up to this one, and their numbers
    AnnouncedCall announced{Signature{}};
    std::uint64_t hash = 0;  // of signature and communicator
    // Makes it the call after `before`. Mostly one is like the other.
    void follow(const Call& before, const Signature& call, std::uint32_t its_communicator, std::uint32_t number) {
      *this = before;
      if (signature != call || communicator != its_communicator) become(call, its_communicator);
      sequence = number;
      digest = digest_after(before, number);
    }
    // Of a member whose call after `before` is like this one but for its number: that number; nothing where none near
    // this one makes such a digest.
    std::optional<std::uint32_t> number_behind(std::uint32_t other_digest, const Call& before) const;

   private:
    void become(const Signature& call, std::uint32_t its_communicator);
    std::uint32_t digest_after(const Call& before, std::uint32_t number) const {
      return Hash().add((before.digest ^ hash) + number).value32();
    }
  };
  std::array<Call, direct::announcements> calls = {};  // own ones, by turn
  Call& call(std::uint64_t of_turn) { return calls[of_turn % direct::announcements]; }
};

}  // namespace hocket
