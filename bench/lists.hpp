// Calls on lists of tensors: how a case's data is cut, and the calls.
#pragma once

#include <vector>

#include "bench/collectives.hpp"

namespace hocket::bench {

// Whether the collective can be measured on a list.
bool has_list(const Benchmark& benchmark);

// The case's data in `what.tensors` tensors of about equal lengths, one behind the other; in place, each by itself.
// These are for lists only.
std::vector<Segment> list_input(const Case& what, Place place);
std::vector<Segment> expected_list_output(const Case& what, Place place);  // on ranks that receive
hocket_result call_list(const Case& what, Place place, hocket_comm* comm, const void* send, void* recv,
                        const hocket_call_options& options, hocket_work** work);

}  // namespace hocket::bench
