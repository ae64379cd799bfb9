/// @file
/// Hocket for C++20: a thin, header-only wrapper over the C API, whose contract holds here too.
///
///     hocket::Communicator comm = hocket::Communicator::create();  // rank and size from the environment
///     std::vector<float> gradient = …;
///     comm.allreduce(gradient, hocket::Op::sum);                   // in place
///     hocket::Work work = comm.allreduce_async(gradient, sums, hocket::Op::sum);
///     …                                                            // leave both vectors alone meanwhile
///     work.wait();
///
/// Failures are thrown as hocket::Error. Communicator, Work, Creation and Agreement are move-only and clean up after
/// themselves.
/// Data arguments are contiguous ranges: spans, vectors, arrays. All names live in an inline namespace, so that this
/// header links beside a Hocket library of any version.
#pragma once

#if __cplusplus <= 201703L
#error "hocket.hpp needs C++20 (-std=c++20; in CMake, linking Hocket::hocket asks for it). hocket.h needs only C99."
#else

#include "hocket/agree.hpp"          // agreeing in the background
#include "hocket/call.hpp"           // options of a call; how the latest one was carried out
#include "hocket/collectives.hpp"    // allreduce, broadcast …
#include "hocket/collectives_v.hpp"  // the same with blocks of unequal size
#include "hocket/comm.hpp"           // Communicator
#include "hocket/creation.hpp"       // creating communicators in the background
#include "hocket/errors.hpp"         // Error
#include "hocket/groups.hpp"         // calls that start together
#include "hocket/hocket.h"           // the C API
#include "hocket/lists.hpp"          // collectives on lists of tensors
#include "hocket/messages.hpp"       // send, receive
#include "hocket/types.hpp"          // element types, reductions
#include "hocket/work.hpp"           // asynchronous and persistent calls

#endif
