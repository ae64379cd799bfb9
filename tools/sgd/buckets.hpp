// Gradients on their way to the other ranks: in buckets, each of which leaves as soon as its last tensor is complete,
// so that the network works while the processor still computes the gradients of earlier layers.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "hocket/hocket.hpp"
#include "tools/sgd/layers.hpp"

namespace hocket::sgd {

// Consecutive tensors, which lie one behind the other.
struct Bucket {
  std::size_t last_tensor = 0;
  std::span<float> gradients;
};

// Fills buckets in order, each until it holds at least `bytes`; 0: one tensor each.
std::vector<Bucket> make_buckets(std::span<const Tensor> tensors, std::size_t bytes);

enum class Departure {
  when_full,  // as soon as a bucket's gradients are complete
  after_all,  // not before all gradients are: nothing overlaps, to show the difference
};

// Sums gradients over all ranks, in place. One object serves all steps of a training.
class GradientExchange {
 public:
  // `stream` orders gradients on a GPU, and what is put into it after finish() finds the sums.
  GradientExchange(Communicator& comm, std::vector<Bucket> buckets, Departure departure, void* stream = nullptr);

  // The gradient of a tensor is complete, and is not touched again before finish() has returned. Tensors come in order.
  void ready(std::size_t tensor);
  // Waits until all gradients are sums. Throws hocket::Error, from which there is no way back.
  void finish();

 private:
  void start_next();

  Communicator& comm_;
  std::vector<Bucket> buckets_;
  Departure departure_;
  void* stream_;
  std::vector<Work> running_;  // one for each bucket that has left
};

}  // namespace hocket::sgd
