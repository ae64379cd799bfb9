// Over shared memory, ranks that only send small data go on before the others have taken part.
#include <vector>

#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

constexpr int ahead = 1000;  // fewer than the library allows
constexpr int calls = 2500;
constexpr Rank root = 1;

Case call_number(Collective collective, int number) {
  return {.collective = collective,
          .count = static_cast<std::size_t>(number * 37 % 100),
          .root = root,
          .in_place = number % 2 == 0,
          .salt = static_cast<std::uint64_t>(number) + 1};
}

class RunAhead : public testing::TestWithParam<std::tuple<Collective, int>> {
 protected:
  Collective collective() const { return std::get<0>(GetParam()); }
  int size() const { return std::get<1>(GetParam()); }
  bool goes_ahead(int rank) const {
    if (info_of(collective()).is_prefix()) return rank + 1 < size();  // the last one's input is nobody's
    const bool from_root = collective() == Collective::broadcast || collective() == Collective::scatter;
    return (rank == root) == from_root;
  }
  static void meet(Child& child) {
    child.say("ahead");
    (void)child.hear();
  }
  void let_senders_go_ahead(ProcessGroup& group) const {
    for (int rank = 0; rank < size(); ++rank) {
      if (goes_ahead(rank)) {
        EXPECT_EQ(group.hear(rank), "ahead");
      }
    }
    for (int rank = 0; rank < size(); ++rank) group.tell(rank, "all may go on");
  }
};

// The others begin only when the senders have told that they are ahead; a rank that is done leaves at once.
TEST_P(RunAhead, SendersNeedNotWaitForReceivers) {
  ProcessGroup group(size(), [this](Child& child) {
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.transport = "auto";  // whatever the environment says: links want their connections first
    const Comm comm(&options);
    ASSERT_TRUE(comm);
    child.say("here");
    if (!goes_ahead(child.index)) (void)child.hear();
    for (int number = 0; number < calls; ++number) {
      if (goes_ahead(child.index) && number == ahead) meet(child);
      Call(call_number(collective(), number), child.index, size()).run(comm.get());
    }
  });
  group.hear_from_all("here");
  let_senders_go_ahead(group);
  group.expect_success();
}

// One rank's call differs; the senders have gone on by then, and hear of it from a later call.
TEST_P(RunAhead, AMismatchIsFoundByAllInTheEnd) {
  ProcessGroup group(size(), [this](Child& child) {
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.transport = "auto";  // whatever the environment says: links want their connections first
    const Comm comm(&options);
    ASSERT_TRUE(comm);
    child.say("here");
    if (!goes_ahead(child.index)) (void)child.hear();
    hocket_result result = HOCKET_OK;
    for (int number = 0; number < calls && result == HOCKET_OK; ++number) {
      if (goes_ahead(child.index) && number == ahead) meet(child);
      Case what = call_number(collective(), 11);  // of 7 elements
      if (number == 3 && child.index == size() - 1) ++what.count;
      result = Call(what, child.index, size()).issue(comm.get());
    }
    expect_result(result, HOCKET_MISMATCH);
    expect_message_names("of 7 ");
    expect_message_names("of 8 ");
    (void)child.hear();  // stays until all have been told
  });
  group.hear_from_all("here");
  let_senders_go_ahead(group);
  for (int rank = 0; rank < size(); ++rank) group.tell(rank, "leave");
  group.expect_success();
}

INSTANTIATE_TEST_SUITE_P(Collectives, RunAhead,
                         testing::Combine(testing::Values(Collective::broadcast, Collective::scatter,
                                                          Collective::gather, Collective::reduce, Collective::scan,
                                                          Collective::exscan),
                                          testing::Values(2, 3, 5)),
                         [](const auto& of) {
                           return std::string(name_of(std::get<0>(of.param))) + "_" +
                                  std::to_string(std::get<1>(of.param));
                         });

}  // namespace
}  // namespace hocket::process_testing
