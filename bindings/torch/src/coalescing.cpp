#include "bindings/torch/src/coalescing.hpp"

#include <ATen/core/ivalue.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace hocket_torch {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

Tensors outputs_of(const std::vector<Handle>& works) {
  Tensors outputs;
  for (const Handle& work : works) {
    const Tensors some = work->result();
    outputs.insert(outputs.end(), some.begin(), some.end());
  }
  return outputs;
}

// One for several. It is complete when all of them are, and fails with the first that has failed.
class JointWork : public c10d::Work {
 public:
  explicit JointWork(std::vector<Handle> works) : works_(std::move(works)) {}

  bool isCompleted() override {
    return std::all_of(works_.begin(), works_.end(), [](const Handle& work) { return work->isCompleted(); });
  }
  bool isSuccess() const override {
    return std::all_of(works_.begin(), works_.end(), [](const Handle& work) { return work->isSuccess(); });
  }
  std::exception_ptr exception() const override {
    for (const Handle& work : works_) {
      if (auto error = work->exception()) return error;
    }
    return nullptr;
  }
  std::vector<at::Tensor> result() override { return outputs_of(works_); }
  void synchronize() override {
    for (const Handle& work : works_) work->synchronize();
  }
  void abort() override {
    for (const Handle& work : works_) work->abort();
  }

  bool wait(milliseconds timeout = kNoTimeout) override {
    const auto deadline = Clock::now() + timeout;
    for (const Handle& work : works_) {
      const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
      work->wait(timeout > kNoTimeout ? std::max(left, milliseconds(1)) : kNoTimeout);
    }
    return true;
  }

  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override {
    c10::List<c10::intrusive_ptr<c10::ivalue::Future>> futures(
        c10::FutureType::create(c10::ListType::create(c10::TensorType::get())));
    for (const Handle& work : works_) futures.push_back(work->getFuture());
    return c10::collectAll(futures)->then(
        [works = works_](c10::ivalue::Future& all) {
          if (all.hasError()) std::rethrow_exception(all.exception_ptr());
          return c10::IValue(outputs_of(works));
        },
        c10::ListType::create(c10::TensorType::get()));
  }

 private:
  const std::vector<Handle> works_;
};

}  // namespace

void Coalescing::start() {
  const std::lock_guard lock(mutex_);
  if (section_) section_->open = false;
  section_ = std::make_shared<Section>();
  works_.clear();
  open_ = true;
}

std::vector<Handle> Coalescing::close() {
  const std::lock_guard lock(mutex_);
  if (!section_) throw std::runtime_error("endCoalescing without startCoalescing");
  std::exchange(section_, nullptr)->open = false;
  open_ = false;
  return std::exchange(works_, {});
}

Handle Coalescing::end() {
  auto works = close();
  if (works.size() == 1) return works.front();
  return c10::make_intrusive<JointWork>(std::move(works));
}

void Coalescing::end(const std::vector<Handle>& held) {
  for (const Handle& work : close()) {
    if (std::find(held.begin(), held.end(), work) == held.end()) work->wait();
  }
}

Handle Coalescing::work(c10d::OpType type, const char* title, Started started) {
  if (!open_.load(std::memory_order_relaxed)) return c10::make_intrusive<Work>(type, title, std::move(started));
  const std::lock_guard lock(mutex_);
  const bool ours = section_ && section_->is_this_threads();
  if (ours) started.section = section_;
  Handle work = c10::make_intrusive<Work>(type, title, std::move(started));
  if (ours) works_.push_back(work);
  return work;
}

}  // namespace hocket_torch
