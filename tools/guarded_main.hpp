// What the main functions of all programs have in common.
#pragma once

namespace hocket {

// Calls body(argc, argv) and returns the exit status for the shell: the body's, unless standard output could not be
// written, on a full disk for instance. That is told on standard error, and the status is 2. Where nobody reads it any
// more, as in `| head`, the program ends without a word, with the status of one that SIGPIPE has killed.
int guarded_main(const char* program, int argc, char** argv, int (*body)(int, char**));

}  // namespace hocket
