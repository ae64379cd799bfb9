// A window whose members are objects of one process, moved by one thread: every order of events can be tried, and
// tried again.
#pragma once

#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "src/spi/window.hpp"

namespace hocket::testing_support {

// What the members share.
struct SharedMemory {
  struct Member {
    std::array<ControlLine, Window::lines_per_member> lines{};
    std::unique_ptr<std::byte[]> staging;
    std::vector<std::pair<std::byte*, std::size_t>> regions;  // by id - 1; null: gone
    bool asleep = false;
    MemberSet awaited = 0;  // while it is
  };

  SharedMemory(std::uint32_t size, std::size_t bytes_of_staging) : staging_bytes(bytes_of_staging) {
    for (std::uint32_t i = 0; i < size; ++i) {
      members.emplace_back().staging = std::make_unique_for_overwrite<std::byte[]>(bytes_of_staging);
    }
  }
  std::uint32_t enroll(std::uint32_t member, std::byte* data, std::size_t bytes) {
    members[member].regions.emplace_back(data, bytes);
    return static_cast<std::uint32_t>(members[member].regions.size());
  }
  void withdraw(std::uint32_t member, std::uint32_t region) { members[member].regions[region - 1] = {nullptr, 0}; }

  std::deque<Member> members;
  std::size_t staging_bytes;
};

class MemoryWindow final : public Window {
 public:
  MemoryWindow(SharedMemory& shared, std::uint32_t self) : shared_(shared), self_(self) {}

  std::uint32_t size() const override { return static_cast<std::uint32_t>(shared_.members.size()); }
  std::uint32_t self() const override { return self_; }
  Rank rank_of(std::uint32_t member) const override { return static_cast<Rank>(member); }
  ControlLine* control_lines(std::uint32_t member) override { return shared_.members[member].lines.data(); }
  std::byte* staging(std::uint32_t member) override { return shared_.members[member].staging.get(); }
  std::size_t staging_bytes() const override { return shared_.staging_bytes; }
  RegionRef locate(const void* data, std::size_t bytes) override {
    const auto& regions = shared_.members[self_].regions;
    const auto* at = static_cast<const std::byte*>(data);
    for (std::uint32_t i = 0; i < regions.size(); ++i) {
      const auto& [start, length] = regions[i];
      if (start != nullptr && at >= start && at + bytes <= start + length) {
        return {i + 1, static_cast<std::uint64_t>(at - start)};
      }
    }
    return {};
  }
  std::byte* map(std::uint32_t member, const RegionRef& ref, std::size_t bytes) override {
    const auto& [start, length] = shared_.members[member].regions[ref.region - 1];
    return start == nullptr || ref.offset + bytes > length ? nullptr : start + ref.offset;
  }
  bool reads_plain_memory() override { return true; }
  PlainReads plain_reads() override { return reads; }
  Status read(std::uint32_t, std::uintptr_t from, std::byte* to, std::size_t bytes) override {
    if (before_read) before_read();
    std::memcpy(to, reinterpret_cast<const std::byte*>(from), bytes);
    return {};
  }
  void tidy() override {
    if (in_tidy) in_tidy();
  }
  // Who sleeps is not run until it is awake again.
  std::uint32_t prepare_sleep(MemberSet awaited) override {
    shared_.members[self_].asleep = true;
    shared_.members[self_].awaited = awaited;
    return 0;
  }
  void sleep(std::uint32_t, Deadline) override {}
  void cancel_sleep() override { shared_.members[self_].asleep = false; }
  void prepare_poll() override { prepare_sleep(all_members); }
  void wake_others() override { wake_sleepers(); }
  void wake_sleepers() override {
    for (SharedMemory::Member& member : shared_.members) {
      if ((member.awaited & set_of(self_)) != 0) member.asleep = false;
    }
  }
  void interrupt() override { cancel_sleep(); }

  bool sleeps() const { return shared_.members[self_].asleep; }

  std::function<void()> before_read, in_tidy;
  PlainReads reads{.read = 1e-10, .copy = 1e-10};

 private:
  SharedMemory& shared_;
  const std::uint32_t self_;
};

}  // namespace hocket::testing_support
