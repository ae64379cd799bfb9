// Addresses of this host, for the store that a launch on several hosts serves.
#pragma once

#include <string>

#include "src/spi/status.hpp"

namespace hocket::launch {

// Whether ranks of the host need no ssh: its name is "localhost", this host's own, or an address of this host.
bool is_this_host(const std::string& name);
// Whether the text is one of this host's IP addresses.
bool is_own_address(const std::string& text);
// The address that the text names: itself, or that of an interface, IPv4 first. Errors: INVALID_ARGUMENT.
Result<std::string> own_address(const std::string& text);

}  // namespace hocket::launch
