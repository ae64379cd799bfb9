// FirstFailure: what broke an executor, for good. Every operation that had not ended ends with it.
#pragma once

#include <mutex>

#include "src/base/caught.hpp"
#include "src/exec/operation.hpp"
#include "src/spi/status.hpp"

namespace hocket {

// Whether the first of two causes is the one to report where ranks see several things at once: what a program or a rank
// did itself, then a death, then a time-out; of one kind the one that blames the lower rank, then the one that a lower
// rank saw. A total order, so ranks that know the same causes report the same one.
bool precedes(const Cause& one, const Cause& other);

// Thread rule: any thread.
class FirstFailure {
 public:
  explicit FirstFailure(Rank rank);

  // A request to abort, which the thread that progresses carries out. False: there was one, or a failure, before.
  bool request_abort(const Status& why);
  Status requested_abort() const;
  // The first failure stays; returns it.
  Status set(const Status& cause);
  // What broke it, or is about to; ok: nothing.
  Status get() const;

  // The status with what the layers below could not know: which rank saw it, and in which operation (null: in none).
  Status with_context(const Status& status, const Operation* operation) const;
  // What the exception means that is being handled. Needs no memory where memory ran out.
  Status of_exception() const { return caught_.status(); }

 private:
  const Rank rank_;
  const Caught caught_;
  mutable std::mutex mutex_;
  Status failure_, abort_;  // guarded by mutex_
};

}  // namespace hocket
