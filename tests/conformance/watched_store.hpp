// A store in which a test watches every request, and may end the process before it.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "src/spi/store.hpp"

namespace hocket {

class WatchedStore : public Store {
 public:
  // `before_each` is called before each request to `store`.
  WatchedStore(Store& store, std::function<void()> before_each) : store_(store), before_each_(std::move(before_each)) {}

  std::string url() const override { return store_.url(); }
  Status set(std::string_view key, std::string_view value, Deadline deadline) override {
    return watched().set(key, value, deadline);
  }
  Result<std::string> get(std::string_view key, Deadline deadline) override { return watched().get(key, deadline); }
  Result<std::optional<std::string>> peek(std::string_view key, Deadline deadline) override {
    return watched().peek(key, deadline);
  }
  Result<std::int64_t> add(std::string_view key, std::int64_t delta, Deadline deadline) override {
    return watched().add(key, delta, deadline);
  }
  Result<std::optional<std::string>> compare_and_set(std::string_view key, std::optional<std::string_view> expected,
                                                     std::string_view desired, Deadline deadline) override {
    return watched().compare_and_set(key, expected, desired, deadline);
  }
  Result<std::optional<std::string>> claim(std::string_view key, std::optional<std::string_view> expected,
                                           std::string_view desired, const Bequest& bequest,
                                           Deadline deadline) override {
    return watched().claim(key, expected, desired, bequest, deadline);
  }
  bool claims_end_with_owner() const override { return store_.claims_end_with_owner(); }
  Result<std::string> await(std::string_view key, Deadline deadline, const LookAround& look_around) override {
    if (!has_server()) return Store::await(key, deadline, look_around);
    return watched().await(key, deadline, look_around);
  }
  Result<Allgathered> allgather(const Allgather& mine, Deadline deadline, const LookAround& look_around,
                                const Sound& sound) override {
    if (!has_server()) return Store::allgather(mine, deadline, look_around, sound);
    return watched().allgather(mine, deadline, look_around, sound);
  }
  Status connection() override { return store_.connection(); }
  Status reconnect(Deadline deadline, const std::stop_token& stop) override { return store_.reconnect(deadline, stop); }
  Result<bool> remove(std::string_view key, Deadline deadline) override { return watched().remove(key, deadline); }
  Result<std::vector<std::string>> list(std::string_view prefix, Deadline deadline) override {
    return watched().list(prefix, deadline);
  }

 private:
  // What such a store does with one request, others do with several, each of which is watched.
  bool has_server() const { return store_.url().starts_with("tcp://"); }
  Store& watched() {
    before_each_();
    return store_;
  }

  Store& store_;
  const std::function<void()> before_each_;
};

}  // namespace hocket
