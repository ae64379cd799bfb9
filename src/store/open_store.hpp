// Stores by URL.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "src/base/trust.hpp"
#include "src/spi/store.hpp"

namespace hocket {

// "tcp://host:port", "tcp://[v6]:port": connects, waiting until the server listens. "file:///path": opens or makes the
// file. "redis://[[user]:password@]host:port[/database][?prefix=TEXT]", with %XX for what has a meaning of its own: a
// Redis server; Code::unsupported in a build without it. Code::invalid_environment where the URL is none of these,
// Code::aborted when `stop` is requested; else the errors of the store's own factory.
Result<std::unique_ptr<Store>> open_store(std::string_view url, Deadline deadline, const std::stop_token& stop = {},
                                          const Trust& trust = {});

}  // namespace hocket
