// Stripes: the completions of messages that several streams carry. Each share tells its stripe; the last one tells the
// message's own completion. Stripes are used again, so a running link allocates nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "src/spi/transport.hpp"

namespace hocket::tcp {

class Stripes {
 public:
  // Of a message in `shares` parts; `whole` is done with the first failure of any, else with success.
  Completion& join(std::size_t shares, Completion& whole) { return take(shares, whole); }

  // The same for a reduction whose elements do not end where shares do: `arrived` gets memory for the whole message,
  // which is reduced when all of it is there.
  Completion& join_and_reduce(std::size_t shares, Completion& whole, const std::byte* mine, Buffer to,
                              const Reduction& reduction, std::byte*& arrived);

 private:
  struct Stripe : Completion {
    std::size_t missing = 0;
    Status status{};
    Completion* whole = nullptr;
    Stripes* owner = nullptr;
    std::vector<std::byte> arrived{};  // of a reduction that comes last
    const std::byte* mine = nullptr;
    Buffer to{};
    Reduction reduction{};
  };

  Stripe& take(std::size_t shares, Completion& whole);
  static void share_done(Completion& self, const Status& status);

  std::vector<std::unique_ptr<Stripe>> all_;
  std::vector<Stripe*> free_;
};

}  // namespace hocket::tcp
