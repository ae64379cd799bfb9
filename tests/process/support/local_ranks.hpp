// Ranks that are threads of this process.
#pragma once

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "hocket/hocket.hpp"

namespace hocket::process_testing {

// Runs body(communicator) on a thread for each rank; an error that leaves it is a failure of the test.
template <class Body>
void on_local_ranks(int ranks, const Body& body) {
  std::vector<Communicator> comms = Communicator::create_local(ranks);
  ASSERT_EQ(comms.size(), static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (Communicator& comm : comms) {
    threads.emplace_back([&body, &comm] {
      try {
        body(comm);
      } catch (const Error& error) {
        ADD_FAILURE() << "rank " << comm.rank() << ": " << error.what();
        comm.abort("a test has failed");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace hocket::process_testing
