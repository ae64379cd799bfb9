// Manner: how an operation moves its data, as far as people are told, with a number by which two are compared.
#pragma once

#include <atomic>
#include <cstdint>

#include "src/exec/transport_names.hpp"

namespace hocket {

class Manner {
 public:
  // Not 0. As long as it is the same, so are the transports, and the algorithm and wire format of the operation, unless
  // that one runs another one.
  std::uint64_t number() const { return number_; }
  const TransportNames& transports() const { return transports_; }
  void set_transports(const TransportNames& transports) {
    transports_ = transports;
    renew();
  }
  // Something of it is different from now on.
  void renew() { number_ = ++numbers_; }

 private:
  static std::atomic<std::uint64_t> numbers_;  // how many there have been in this process

  TransportNames transports_;
  std::uint64_t number_ = ++numbers_;
};

}  // namespace hocket
