// The client of hocket-store and of the server embedded in rank 0.
#pragma once

#include <memory>
#include <mutex>
#include <stop_token>

#include "src/spi/store.hpp"
#include "src/store/connection.hpp"

namespace hocket {

// One connection, shared by all threads. When it is lost, every pending and later call returns Code::store_unreachable,
// until somebody connects again.
class TcpStore final : public Store {
 public:
  // Waits until the server listens. Errors: store_unreachable at the deadline; protocol_error where something else
  // than a Hocket store of this version listens; mismatch or invalid_environment where that and this side do not trust
  // each other; aborted when `stop` is requested.
  static Result<std::unique_ptr<TcpStore>> connect(const std::string& host, std::uint16_t port, Deadline deadline,
                                                   const std::stop_token& stop = {}, const Trust& trust = {});

  std::string url() const override { return url_; }
  Status set(std::string_view key, std::string_view value, Deadline deadline) override;
  Result<std::string> get(std::string_view key, Deadline deadline) override;
  Result<std::optional<std::string>> peek(std::string_view key, Deadline deadline) override;
  Result<std::int64_t> add(std::string_view key, std::int64_t delta, Deadline deadline) override;
  Result<std::optional<std::string>> compare_and_set(std::string_view key, std::optional<std::string_view> expected,
                                                     std::string_view desired, Deadline deadline) override;
  Result<std::optional<std::string>> claim(std::string_view key, std::optional<std::string_view> expected,
                                           std::string_view desired, const Bequest& bequest,
                                           Deadline deadline) override;
  bool claims_end_with_owner() const override { return true; }
  Result<std::string> await(std::string_view key, Deadline deadline, const LookAround& look_around) override;
  Result<Allgathered> allgather(const Allgather& mine, Deadline deadline, const LookAround& look_around,
                                const Sound& sound) override;
  Status connection() override { return current()->state(); }
  Status reconnect(Deadline deadline, const std::stop_token& stop) override;
  bool is_refused(Deadline deadline) override { return store::is_refused(host_, port_, deadline); }
  Result<bool> remove(std::string_view key, Deadline deadline) override;
  // In pages of 256 KiB of keys, each of them true at its own moment.
  Result<std::vector<std::string>> list(std::string_view prefix, Deadline deadline) override;

 private:
  TcpStore(std::string host, std::uint16_t port, const Trust& trust, store::Dialled dialled);

  std::shared_ptr<store::Connection> current() const;

  Result<std::optional<std::string>> swap(const store::wire::Request& request, Deadline deadline);
  // The reply, or the failure that it carries.
  Result<store::Connection::Reply> call(const store::wire::Request& request, Deadline deadline,
                                        const LookAround& look_around = {});

  const std::string host_;
  const std::uint16_t port_;
  const Trust trust_;
  const std::string url_;
  std::mutex reconnecting_;   // held by the one that does
  mutable std::mutex mutex_;  // guards what follows
  std::shared_ptr<store::Connection> connection_;
};

}  // namespace hocket
