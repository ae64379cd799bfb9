// Calls on lists of tensors: how a case's data is cut.
#pragma once

#include <vector>

#include "bench/collectives.hpp"
#include "hocket/hocket.h"

namespace hocket::bench {

// Whether the collective can be measured on a list.
bool has_list(const Benchmark& benchmark);

// The case's data in `what.tensors` tensors of about equal lengths, one behind the other; in place, each by itself.
// These are for lists only.
std::vector<Segment> list_input(const Case& what, Place place);
std::vector<Segment> expected_list_output(const Case& what, Place place);  // on ranks that receive
// The list of the call.
std::vector<hocket_tensor> tensors_of(const Case& what, Place place, const void* send, void* recv);

}  // namespace hocket::bench
