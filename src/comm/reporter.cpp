#include "src/comm/reporter.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "src/base/log.hpp"
#include "src/store/open_store.hpp"

namespace hocket::comm {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;

constexpr auto report_interval = 1s;
constexpr auto store_patience = 500ms;

class Reporter {
 public:
  Reporter(ReportTarget target, store::ReportKeys keys, ReportSource source)
      : target_(std::move(target)), keys_(std::move(keys)), source_(std::move(source)) {}

  void run(const std::stop_token& over) {
    std::unique_ptr<Store> latest;
    while (!over.stop_requested()) {
      auto store = open(over);
      if (store.ok()) latest = std::move(*store);
      const Status lost = store.ok() ? serve(*latest, over) : store.status();
      if (!over.stop_requested()) log::debug("a report did not reach the store: " + lost.message());
      sleep_unless_stopped(report_interval, over);
    }
    if (latest) clear(*latest);
  }

 private:
  Result<std::unique_ptr<Store>> open(const std::stop_token& over) const {
    std::unique_ptr<StoreServer> nobodys;
    const auto deadline = Deadline::after(5s);
    if (target_.meeting) return meet_at(*target_.meeting, 0, nobodys, deadline, over, target_.trust);
    return open_store(target_.store, deadline, over, target_.trust);
  }

  // Until the store fails or all is over.
  Status serve(Store& store, const std::stop_token& over) {
    const auto unless_over = [&] { return over.stop_requested() ? Status(Code::aborted, "it is over") : Status(); };
    Status told = report(store);
    while (told.ok() && !over.stop_requested()) {
      const auto word = store.await(keys_.question(), Deadline::after(report_interval), unless_over);
      if (over.stop_requested()) break;
      if (word.ok()) {
        told = answer(store, *word);
      } else if (word.status().code() != Code::timeout) {
        told = word.status();
      }
      if (told.ok() && !over.stop_requested()) told = report(store);
    }
    return told;
  }

  Status report(Store& store) {
    std::string now = source_.report();
    Status told = own(store, keys_.report(), told_, now, Deadline::after(store_patience));
    if (told.ok()) told_ = std::move(now);
    return told;
  }

  Status answer(Store& store, const std::string& word) {
    const auto deadline = Deadline::after(store_patience);
    if (const auto removed = store.remove(keys_.question(), deadline); !removed.ok()) return removed.status();
    if (!answered_.empty()) (void)store.remove(answered_, deadline);  // where nobody took it
    answered_ = keys_.record(word);
    Status given = own(store, answered_, std::nullopt, source_.record(), deadline);
    // The store may lack room for a record, and yet go on.
    return given.code() == Code::out_of_resources || given.code() == Code::invalid_argument ? Status() : given;
  }

  // Sets a key so that it ends with this rank, each time: what is merely set may stay. `before`: what it should hold.
  static Status own(Store& store, const std::string& key, const std::optional<std::string>& before,
                    const std::string& value, Deadline deadline) {
    auto found = store.claim(key, before, value, {}, deadline);
    // A connection that was lost may have left something else, or the store may have lost it.
    if (found.ok() && *found != before) found = store.claim(key, *found, value, {}, deadline);
    return found.status();
  }

  // A store that cannot see who is gone would keep them, also where it has just refused a later one.
  void clear(Store& store) const {
    if (store.claims_end_with_owner()) return;
    const auto deadline = Deadline::after(store_patience);
    (void)store.remove(keys_.report(), deadline);
    if (!answered_.empty()) (void)store.remove(answered_, deadline);
  }

  const ReportTarget target_;
  const store::ReportKeys keys_;
  const ReportSource source_;
  std::optional<std::string> told_;  // the latest report that the store has; nothing: none, as far as is known
  std::string answered_;             // the key of the latest record
};

}  // namespace

Result<Attendant> report_to(const ReportTarget& target, const store::ReportKeys& keys, ReportSource source) {
  auto reporter = std::make_shared<Reporter>(target, keys, std::move(source));
  return Attendant::start([reporter](const std::stop_token& over) { reporter->run(over); });
}

}  // namespace hocket::comm
