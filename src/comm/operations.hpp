// What a communicator prepares and runs, as the floor above sees it.
#pragma once

#include "src/exec/operation.hpp"
