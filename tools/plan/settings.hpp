// hocket-plan settings: every variable that Hocket reads, and what this host offers to TCP.
#pragma once

namespace hocket {

// Prints to standard output, as JSON if asked. False: something is set wrongly, as printed.
bool show_settings(bool json);

}  // namespace hocket
