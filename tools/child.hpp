// A program that ours starts and waits for.
#pragma once

#include <string>
#include <vector>

#include "src/spi/status.hpp"

namespace hocket::launch {

struct Ended {
  int status = 0;       // 128 + signal where a signal ended it
  int interrupted = 0;  // SIGINT, SIGTERM or SIGHUP, which this process got meanwhile: then the program has been ended,
                        // with all that it had started, and `status` means nothing
  std::string said;     // on standard error
};

// Runs a program, which is looked up in PATH, to its end; its standard output goes nowhere. The calling process must
// have one thread and no other child. Errors: OUT_OF_RESOURCES; INVALID_ARGUMENT (the program cannot be started).
Result<Ended> run_program(std::vector<std::string> arguments);

}  // namespace hocket::launch
