// Calls on lists of tensors: how a case's data is cut, and the calls.
#pragma once

#include "bench/collectives.hpp"

namespace hocket::bench {

// Whether the collective can be measured on a list.
bool has_list(Kind kind);

// The call on `what.tensors` tensors, each a run of the buffers, of about equal lengths.
hocket_result call_list(const Case& what, hocket_comm* comm, const void* send, void* recv,
                        const hocket_call_options& options, hocket_work** work);

}  // namespace hocket::bench
