// What an Executor is made of, for its sources.
#pragma once

#include <memory>
#include <utility>

#include "src/exec/executor.hpp"
#include "src/exec/progress_engine.hpp"
#include "src/exec/step_recorder.hpp"

namespace hocket {

struct Executor::Parts {
  explicit Parts(Config given)
      : config(std::move(given)),
        steps(config.steps == 0 ? nullptr : std::make_unique<StepRecorder>(config.steps)),
        contexts(config.rank, config.size, config.name, config.says_name, steps.get()),
        failure(config.rank),
        watcher(lock),
        engine({lock, inbox, contexts, failure, watcher, recorder}, config.rank, config.alone) {}

  const Config config;
  const std::unique_ptr<StepRecorder> steps;
  ProgressLock lock;
  Inbox inbox;
  Contexts contexts;
  FirstFailure failure;
  Watcher watcher;
  Recorder recorder;
  ProgressEngine engine;
};

// Gives back progress that this thread has taken, whatever happens.
class Executor::ProgressGuard {
 public:
  explicit ProgressGuard(Parts& parts) : parts_(parts) {}
  ~ProgressGuard() {
    do {
      parts_.lock.release(parts_.engine.rest());
      // Nobody else would do what was submitted meanwhile.
    } while (parts_.config.alone && (parts_.lock.state() & progress::submitted) != 0 && parts_.lock.try_take());
  }
  ProgressGuard(const ProgressGuard&) = delete;
  ProgressGuard& operator=(const ProgressGuard&) = delete;

 private:
  Parts& parts_;
};

}  // namespace hocket
