#include "tools/sgd/buckets.hpp"

namespace hocket::sgd {

std::vector<Bucket> make_buckets(std::span<const Tensor> tensors, std::size_t bytes) {
  std::vector<Bucket> buckets;
  bool full = true;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::span<float> gradient = tensors[i].gradient;
    if (full) buckets.push_back({i, {gradient.data(), 0}});
    Bucket& bucket = buckets.back();
    bucket.last_tensor = i;
    bucket.gradients = {bucket.gradients.data(), bucket.gradients.size() + gradient.size()};
    full = bucket.gradients.size_bytes() >= bytes;
  }
  return buckets;
}

GradientExchange::GradientExchange(Communicator& comm, std::vector<Bucket> buckets, Departure departure, void* stream)
    : comm_(comm), buckets_(std::move(buckets)), departure_(departure), stream_(stream) {}

void GradientExchange::ready(std::size_t tensor) {
  if (departure_ == Departure::after_all || comm_.size() == 1) return;
  if (tensor == buckets_[running_.size()].last_tensor) start_next();
}

void GradientExchange::finish() {
  if (comm_.size() == 1) return;
  while (running_.size() < buckets_.size()) start_next();
  for (Work& work : running_) work.wait();
  running_.clear();
}

void GradientExchange::start_next() {
  const std::span<float> gradients = buckets_[running_.size()].gradients;
  running_.push_back(comm_.allreduce_async(gradients, gradients, Op::sum, {.stream = stream_}));
}

}  // namespace hocket::sgd
