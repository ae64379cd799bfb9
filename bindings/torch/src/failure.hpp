// How failures of Hocket become exceptions that torch turns into Python's.
#pragma once

#include <exception>
#include <string>

#include "hocket/hocket.h"

namespace hocket_torch {

// std::invalid_argument (Python's ValueError) for HOCKET_INVALID_ARGUMENT, else std::runtime_error (RuntimeError).
std::exception_ptr failure(hocket_result result, const std::string& message);

// Throws that unless `result` is HOCKET_OK; the message is that of this thread's latest call.
void check(hocket_result result);

// Throws what a signal's handler in Python raises, say KeyboardInterrupt. Takes the GIL for a moment.
void check_signals();

}  // namespace hocket_torch
