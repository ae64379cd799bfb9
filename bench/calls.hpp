// The call of a case, as a program makes it: with arguments that were prepared before, and no options where it asks for
// nothing.
#pragma once

#include <functional>

#include "bench/collectives.hpp"
#include "hocket/hocket.h"

namespace hocket::bench {

// A blocking one where `work` is null, and where the case is persistent: then it is planned at the first time.
using Call = std::function<hocket_result(hocket_work** work)>;

// The buffers must live as long as it may be called. `stream` orders those on a GPU.
Call prepare_call(const Case& what, Place place, hocket_comm* comm, const void* send, void* recv, void* stream);

}  // namespace hocket::bench
