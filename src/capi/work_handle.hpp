// The C API's work handles, and those that a thread has released, for the calls that it starts next: programs have more
// of them at once than malloc keeps at hand.
#pragma once

#include <cstddef>
#include <memory>

#include "hocket/hocket.h"
#include "src/comm/started_calls.hpp"

namespace hocket::comm {
class Communicator;
}

// What small messages touch of it lies in its first two cache lines, since a program has many of them at once.
struct alignas(128) hocket_work {
  // Of what is started once more.
  class Run final : public hocket::RunEnd {
   public:
    explicit Run(hocket_work& work) : work_(work) {}
    using RunEnd::leave;

   private:
    void release_itself() noexcept override { delete &work_; }

    hocket_work& work_;
  };

  hocket_work() = default;
  ~hocket_work() { drop(); }
  hocket_work(const hocket_work&) = delete;
  hocket_work& operator=(const hocket_work&) = delete;

  // As it was when it was made, but for what then means nothing. Not of one that was over when it was started.
  void drop() noexcept {
    calls.drop();
    if (!persistent) return;
    persistent = false;
    communicator_life.reset();
  }

  hocket_work* next = nullptr;  // of the spare ones
  // The call was over when it was started, and nothing else is left of it; `facts` tell how. Of a run, all but its
  // number. Before that they are those of another one: mostly of one like it, and then little of them is new.
  bool over = false;
  bool persistent = false;
  hocket::comm::StartedCalls calls;
  Run run{*this};
  hocket::comm::CallFacts facts = {};
  // Of persistent works: what starts them, while it lives.
  hocket::comm::Communicator* communicator = nullptr;
  std::weak_ptr<const void> communicator_life = {};
};

namespace hocket::capi {

// Of the calling thread.
class SpareWorks {
 public:
  hocket_work* take() {
    hocket_work* const work = first_;
    if (work == nullptr) return new hocket_work;
    first_ = work->next;
    ++room_;
    return work;
  }
  void give(hocket_work* work) noexcept {
    if (work->over) {
      work->over = false;
    } else {
      if (!work->run.finished() && work->run.leave()) return;  // which deletes it at its end
      work->drop();
    }
    if (room_ == 0 && !open()) {
      delete work;
      return;
    }
    work->next = first_;
    first_ = work;
    --room_;
  }
  // At the thread's end. What its other objects release later goes where it came from.
  void close() noexcept;

 private:
  // There is room for the first of them; false where there was, before.
  bool open() noexcept;

  hocket_work* first_ = nullptr;
  std::size_t room_ = 0;  // for so many more
};

extern constinit thread_local SpareWorks spare_works;

// A handle that no caller has yet.
struct GiveBack {
  void operator()(hocket_work* work) const noexcept { spare_works.give(work); }
};
using NewWork = std::unique_ptr<hocket_work, GiveBack>;
inline NewWork new_work() {
  return NewWork(spare_works.take());
}

}  // namespace hocket::capi
