// Sleeping that ends when a thread is to stop.
#pragma once

#include <chrono>
#include <stop_token>

namespace hocket {

// Sleeps, but no longer than until a stop is requested. Needs no memory, and throws nothing.
void sleep_unless_stopped(std::chrono::milliseconds time, const std::stop_token& stop);

}  // namespace hocket
