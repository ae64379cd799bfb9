#include "transports/tcp/stripes.hpp"

#include <utility>

namespace hocket::tcp {

Stripes::Stripe& Stripes::take(std::size_t shares, Completion& whole) {
  if (free_.empty()) {
    all_.push_back(std::make_unique<Stripe>());
    all_.back()->owner = this;
    all_.back()->on_done = &share_done;
    free_.reserve(all_.size());
    free_.push_back(all_.back().get());
  }
  Stripe& stripe = *free_.back();
  free_.pop_back();
  stripe.missing = shares;
  stripe.status = Status();
  stripe.whole = &whole;
  return stripe;
}

Completion& Stripes::join_and_reduce(std::size_t shares, Completion& whole, const std::byte* mine, Buffer to,
                                     const Reduction& reduction, std::byte*& arrived) {
  Stripe& stripe = take(shares, whole);
  stripe.arrived.resize(to.bytes);
  stripe.mine = mine;
  stripe.to = to;
  stripe.reduction = reduction;
  arrived = stripe.arrived.data();
  return stripe;
}

void Stripes::share_done(Completion& self, const Status& status) {
  auto& stripe = static_cast<Stripe&>(self);
  if (stripe.status.ok() && !status.ok()) stripe.status = status;
  if (--stripe.missing > 0) return;
  const Reduction reduction = std::exchange(stripe.reduction, {});
  if (reduction.combines() && stripe.status.ok()) {
    reduction.combine_part(stripe.to.data, stripe.mine, 0, stripe.arrived.data(), stripe.to.bytes);
  }
  std::vector<std::byte>().swap(stripe.arrived);
  stripe.owner->free_.push_back(&stripe);
  stripe.whole->done(stripe.status);
}

}  // namespace hocket::tcp
