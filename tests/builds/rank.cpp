// A rank that creates a communicator and says what came of it: as this build, and linked with parts of another one.
#include <cstdio>

#include "hocket/hocket.h"

int main() {
  hocket_comm* comm = nullptr;
  hocket_result result = hocket_comm_create(&comm, nullptr);
  if (result == HOCKET_OK) result = hocket_barrier(comm, nullptr, nullptr);
  std::puts(result == HOCKET_OK ? "met" : hocket_last_error());
  if (comm != nullptr) hocket_comm_destroy(comm);
  return result;
}
