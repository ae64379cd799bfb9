#include "tests/process/support/children.hpp"

#include "tests/process/support/failure.hpp"
#include "tests/process/support/last_call.hpp"

namespace hocket::process_testing {
namespace {

hocket_split_options options_of(Links links, const char* name) {
  hocket_split_options options = HOCKET_SPLIT_OPTIONS_INIT;
  options.name = name;
  options.share_links = links == Links::shared ? 1 : 0;
  return options;
}

}  // namespace

hocket_comm* split(const Comm& parent, int color, int key, Links links, const char* name) {
  const hocket_split_options options = options_of(links, name);
  hocket_comm* child = nullptr;
  expect_result(hocket_comm_split(parent.get(), color, key, &child, &options), HOCKET_OK);
  return child;
}

hocket_comm* duplicate(const Comm& parent, Links links, const char* name) {
  const hocket_split_options options = options_of(links, name);
  hocket_comm* child = nullptr;
  expect_result(hocket_comm_duplicate(parent.get(), &child, &options), HOCKET_OK);
  return child;
}

hocket_comm* subset(const Comm& parent, const std::vector<int32_t>& ranks, Links links) {
  const hocket_split_options options = options_of(links, nullptr);
  const auto count = static_cast<int32_t>(ranks.size());
  hocket_comm* child = nullptr;
  expect_result(hocket_comm_subset(parent.get(), ranks.data(), count, &child, &options), HOCKET_OK);
  return child;
}

int rank_of(const Comm& comm) {
  int32_t rank = -1;
  EXPECT_EQ(hocket_comm_rank(comm.get(), &rank), HOCKET_OK);
  return rank;
}

int size_of(const Comm& comm) {
  int32_t size = -1;
  EXPECT_EQ(hocket_comm_size(comm.get(), &size), HOCKET_OK);
  return size;
}

void use(const Comm& comm, std::uint64_t salt, std::size_t count) {
  const int rank = rank_of(comm), size = size_of(comm);
  for (const Collective collective : {Collective::allreduce, Collective::allgather, Collective::alltoall,
                                      Collective::reduce_scatter, Collective::gather, Collective::barrier}) {
    Call({.collective = collective, .count = count, .root = size - 1, .salt = salt}, rank, size).run(comm.get());
    if (testing::Test::HasFailure()) return;
  }
}

std::string algorithm_on(const Comm& comm) {
  Call({.count = 3}, rank_of(comm), size_of(comm)).run(comm.get());
  return algorithm_of_last_call();
}

std::vector<int> members(const Comm& child, int own) {
  std::vector<int> all(static_cast<std::size_t>(size_of(child)), -1);
  expect_result(hocket_allgather(&own, all.data(), 1, HOCKET_INT32, child.get(), nullptr, nullptr), HOCKET_OK);
  return all;
}

hocket_result barrier(const Comm& comm) {
  return hocket_barrier(comm.get(), nullptr, nullptr);
}

}  // namespace hocket::process_testing
