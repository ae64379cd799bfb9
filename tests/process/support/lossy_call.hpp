// LossyCall: one call at lower precision with its buffers, and what must come out of it.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hocket/hocket.hpp"
#include "src/exec/encode.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {

using Floats = std::vector<float>;

struct Lossy {
  Collective collective = Collective::allreduce;
  WireFormat wire = WireFormat::bfloat16;
  std::size_t count = 1;
  bool in_place = false;
  std::size_t misalignment = 0;
};

inline std::string describe(const Lossy& what) {
  return fmt::format("{} of {} floats as {}, {}, misaligned by {}", name_of(what.collective), what.count,
                     name_of(what.wire), what.in_place ? "in place" : "out of place", what.misalignment);
}

// What a vector is after it has been encoded and decoded.
inline Floats rounded(WireFormat wire, const Floats& values) {
  const WireCodec codec = wire_codec(wire);
  std::vector<std::byte> encoded(encoded_bytes(wire, values.size()));
  Floats arrived(values.size());
  codec.encode(encoded.data(), reinterpret_cast<const std::byte*>(values.data()), values.size());
  codec.decode(reinterpret_cast<std::byte*>(arrived.data()), encoded.data(), values.size());
  return arrived;
}

// The largest magnitude of the block that each element is encoded with; of bfloat16 that is the element alone.
inline Floats magnitudes(WireFormat wire, const Floats& values) {
  Floats found;
  found.reserve(values.size());
  for (const float value : values) found.push_back(std::abs(value));
  if (wire == WireFormat::bfloat16) return found;
  for (std::size_t first = 0; first < found.size(); first += wire_block_elements) {
    const std::span<float> block(found.data() + first, std::min(wire_block_elements, found.size() - first));
    std::ranges::fill(block, std::ranges::max(block));
  }
  return found;
}

// One call with buffers and what must come out. `sends` and `receives` count blocks of `count` elements.
class LossyCall {
 public:
  // `hosts` as in Ranks; empty: each rank is a host of its own, as far as rounding goes.
  LossyCall(const Lossy& what, Rank rank, Rank size, std::string hosts = {})
      : what_(what), rank_(rank), size_(size), hosts_(std::move(hosts)) {
    const auto all = static_cast<std::size_t>(size);
    sends_ = what.collective == Collective::reduce_scatter ? all : 1;
    receives_ = what.collective == Collective::allgather ? all : 1;
    const std::size_t block = what.count * sizeof(float);
    const std::size_t own = static_cast<std::size_t>(rank) * block;
    const std::size_t larger = std::max(sends_, receives_) * block;
    first_ = FencedMemory(what.in_place ? larger : sends_ * block, what.misalignment, MemoryKind::plain);
    second_ = FencedMemory(what.in_place ? 0 : receives_ * block, 3 * what.misalignment % 64, MemoryKind::plain);
    send_ = first_.data() + (what.in_place && receives_ > sends_ ? own : 0);
    recv_ = what.in_place ? first_.data() + (sends_ > receives_ ? own : 0) : second_.data();
    const Floats mine = input_of(rank);
    if (!mine.empty()) std::memcpy(send_, mine.data(), mine.size() * sizeof(float));
  }

  hocket_result issue(hocket_comm* comm, hocket_work** work = nullptr) {
    hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
    options.wire = static_cast<hocket_wire>(what_.wire);
    switch (what_.collective) {
      case Collective::allreduce:
        return hocket_allreduce(send_, recv_, what_.count, HOCKET_FLOAT32, HOCKET_SUM, comm, &options, work);
      case Collective::reduce_scatter:
        return hocket_reduce_scatter(send_, recv_, what_.count, HOCKET_FLOAT32, HOCKET_SUM, comm, &options, work);
      default: return hocket_allgather(send_, recv_, what_.count, HOCKET_FLOAT32, comm, &options, work);
    }
  }
  void run(hocket_comm* comm) {
    ASSERT_EQ(issue(comm), HOCKET_OK) << describe(what_) << ": " << hocket_last_error();
    expect_bits();
    expect_bound();
  }

  // Every host's sum in rank order is rounded, the hosts' are summed in order, and the sum of an allreduce is rounded
  // once more.
  void expect_bits() const {
    for (std::size_t block = 0; block < receives_; ++block) {
      Floats expected;
      for (const std::vector<Rank>& host : ranks_by_host()) {
        Floats of_host;
        for (const Rank rank : host) add(of_host, contribution(block, rank));
        add(expected, rounded(what_.wire, of_host));
      }
      if (what_.collective == Collective::allreduce) expected = rounded(what_.wire, expected);
      const Floats found = output(block);
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(found[i], expected[i]) << describe(what_) << ", rank " << rank_ << " of " << size_ << ", block "
                                         << block << ", element " << i;
      }
    }
    EXPECT_TRUE(first_.fences_stand() && second_.fences_stand())
        << describe(what_) << ": bytes beside a buffer changed";
  }

  // The bounds of docs/reference/lower-precision.md.
  void expect_bound() const {
    const bool bfloat16 = what_.wire == WireFormat::bfloat16;
    const double once = bfloat16 ? 1.0 / 256 : 1.0 / 253, twice = bfloat16 ? 1.0 / 127 : 1.0 / 126;
    const double error = what_.collective == Collective::allreduce ? twice : once;
    for (std::size_t block = 0; block < receives_; ++block) {
      std::vector<double> exact(what_.count), scale(what_.count);
      for (Rank rank = 0; rank < (sums() ? size_ : 1); ++rank) {
        const Floats input = contribution(block, rank);
        const Floats largest = magnitudes(what_.wire, input);
        for (std::size_t i = 0; i < input.size(); ++i) {
          exact[i] += static_cast<double>(input[i]);
          scale[i] += static_cast<double>(largest[i]);
        }
      }
      const double sums_error = sums() ? size_ * 0x1p-22 : 0;
      const Floats found = output(block);
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_LE(std::abs(static_cast<double>(found[i]) - exact[i]),
                  (error + sums_error) * scale[i] + size_ * 0x1p-117)
            << describe(what_) << ", rank " << rank_ << " of " << size_ << ", block " << block << ", element " << i;
      }
    }
  }

 private:
  bool sums() const { return what_.collective != Collective::allgather; }

  static void add(Floats& to, const Floats& more) {
    if (to.empty()) {
      to = more;
      return;
    }
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += more[i];
  }
  // Whose contributions are summed before they are rounded; an allgather has one for each block.
  std::vector<std::vector<Rank>> ranks_by_host() const {
    if (!sums()) return {{0}};
    std::vector<std::vector<Rank>> hosts;
    for (Rank rank = 0; rank < size_; ++rank) {
      const std::size_t at = hosts_.empty() ? hosts.size() : number_of_host(rank);
      if (at >= hosts.size()) hosts.resize(at + 1);
      hosts[at].push_back(rank);
    }
    return hosts;
  }
  // Hosts are numbered in the order of their first ranks.
  std::size_t number_of_host(Rank rank) const {
    std::string seen;
    for (const char host : hosts_.substr(0, static_cast<std::size_t>(rank) + 1)) {
      if (seen.find(host) == std::string::npos) seen.push_back(host);
    }
    return seen.find(hosts_[static_cast<std::size_t>(rank)]);
  }

  // Magnitudes differ from block to block and from rank to rank.
  Floats input_of(Rank rank) const {
    std::mt19937 random(static_cast<unsigned>(rank) * 31 + static_cast<unsigned>(what_.count));
    std::normal_distribution<float> normal;
    Floats values(sends_ * what_.count);
    float magnitude = 1;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i % 41 == 0) magnitude = std::ldexp(1.0F, static_cast<int>(random() % 16) - 8);
      values[i] = magnitude * normal(random);
    }
    return values;
  }
  // What `rank` gives for a block of this rank's output; of an allgather, the block's owner, whoever is named.
  Floats contribution(std::size_t block, Rank rank) const {
    if (what_.collective == Collective::allgather) return input_of(static_cast<Rank>(block));
    const Floats all = input_of(rank);
    const std::size_t own = sends_ > 1 ? static_cast<std::size_t>(rank_) * what_.count : 0;
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(own);
    return Floats(first, first + static_cast<std::ptrdiff_t>(what_.count));
  }
  Floats output(std::size_t block) const {
    Floats found(what_.count);
    if (what_.count > 0)
      std::memcpy(found.data(), recv_ + block * what_.count * sizeof(float), what_.count * sizeof(float));
    return found;
  }

  const Lossy what_;
  const Rank rank_, size_;
  const std::string hosts_;
  std::size_t sends_ = 1, receives_ = 1;
  FencedMemory first_, second_;
  std::byte* send_ = nullptr;
  std::byte* recv_ = nullptr;
};

}  // namespace hocket::process_testing
