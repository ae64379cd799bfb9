// Works on communicators that run on their parent's links: persistent calls, functions that are called on completion,
// and lists of tensors are each member's own, and go on where a member is destroyed.
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hocket/hocket.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/callback_chain.hpp"
#include "tests/process/support/children.hpp"
#include "tests/process/support/over_transports.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/tensor_list.hpp"
#include "tests/process/support/works.hpp"

namespace hocket::process_testing {
namespace {

// All members whose ranks are numbered as the processes, in reverse, or otherwise.
struct Family {
  explicit Family(const Child& child)
      : half(split(parent, child.index % 2, -child.index, Links::shared)),
        turned(split(parent, 0, -child.index, Links::shared)),
        twin(duplicate(turned, Links::shared)) {}

  Comm parent;
  Comm half, turned, twin;
  std::array<const Comm*, 4> members() const { return {&parent, &half, &turned, &twin}; }
};

class SharedLinksWorks : public OverTransports {
 protected:
  static void run(const std::function<void(Child&, Family&)>& body) {
    run_ranks(ranks(), [&](Child& child) {
      Family family(child);
      ASSERT_TRUE(family.twin);
      body(child, family);
    });
  }
};

TEST_P(SharedLinksWorks, PersistentCallsOfAllMembersTakeTurns) {
  run([](Child&, Family& family) {
    const hocket_call_options options = persistent();
    std::vector<Call> calls;
    std::vector<std::unique_ptr<Handle>> works;
    for (const Comm* comm : family.members()) {
      for (const Collective collective : {Collective::allreduce, Collective::allgather, Collective::broadcast}) {
        for (const std::size_t count : {5, 9000}) {
          calls.emplace_back(Case{.collective = collective, .count = count, .salt = calls.size() + 1}, rank_of(*comm),
                             size_of(*comm));
          works.push_back(std::make_unique<Handle>());
          expect_result(calls.back().issue(comm->get(), works.back()->out(), &options), HOCKET_OK);
        }
      }
    }
    for (int round = 0; round < 6; ++round) {
      for (Call& call : calls) call.forget_output();
      if (round % 2 == 0) {
        for (const auto& work : works) expect_result(hocket_work_start(work->get()), HOCKET_OK);
        for (std::size_t i = works.size(); i-- > 0;) expect_result(hocket_work_wait(works[i]->get(), 0), HOCKET_OK);
      } else {
        for (const auto& work : works) expect_result(hocket_work_run(work->get()), HOCKET_OK);
      }
      for (const Call& call : calls) call.expect_correct();
      if (testing::Test::HasFailure()) return;
      use(family.half);
    }
  });
}

// Round a ring in each direction, as each member numbers its ranks.
TEST_P(SharedLinksWorks, PersistentMessagesNameTheRanksOfTheirMember) {
  run([](Child& child, Family& family) {
    const hocket_call_options options = persistent();
    std::array<std::vector<int>, 2> mine, theirs;
    std::array<Handle, 2> sent, received;
    std::array<int, 2> before{};
    for (const std::size_t i : {0, 1}) {
      const Comm& comm = i == 0 ? family.parent : family.turned;
      const int rank = rank_of(comm), size = size_of(comm);
      before[i] = (rank + size - 1) % size;
      mine[i].resize(500);
      theirs[i].resize(500);
      expect_result(
          hocket_send(mine[i].data(), 500, HOCKET_INT32, (rank + 1) % size, comm.get(), &options, sent[i].out()),
          HOCKET_OK);
      expect_result(
          hocket_recv(theirs[i].data(), 500, HOCKET_INT32, before[i], comm.get(), &options, received[i].out()),
          HOCKET_OK);
    }
    for (int run = 0; run < 20; ++run) {
      for (const std::size_t i : {0, 1}) {
        mine[i].assign(500, 10 * run + (i == 0 ? child.index : child.size - 1 - child.index));
        expect_result(hocket_work_start(sent[i].get()), HOCKET_OK);
        expect_result(hocket_work_start(received[i].get()), HOCKET_OK);
      }
      for (const std::size_t i : {1, 0}) {
        expect_result(hocket_work_wait(received[i].get(), 0), HOCKET_OK);
        expect_result(hocket_work_wait(sent[i].get(), 0), HOCKET_OK);
        EXPECT_EQ(theirs[i], std::vector<int>(500, 10 * run + before[i]));
      }
    }
  });
}

// The run that was going on comes to its end; another one is refused, and the family goes on.
TEST_P(SharedLinksWorks, APersistentCallOfAMemberThatIsDestroyed) {
  run([](Child& child, Family& family) {
    const hocket_call_options options = persistent();
    std::optional<Comm> made;
    made.emplace(split(family.parent, 0, -child.index, Links::shared));
    Call call({.count = 30'000}, rank_of(*made), size_of(*made));
    Handle work;
    expect_result(call.issue(made->get(), work.out(), &options), HOCKET_OK);
    expect_result(hocket_work_run(work.get()), HOCKET_OK);
    call.forget_output();
    expect_result(hocket_work_start(work.get()), HOCKET_OK);
    made.reset();
    expect_result(hocket_work_wait(work.get(), 0), HOCKET_OK);
    call.expect_correct();
    expect_result(hocket_work_start(work.get()), HOCKET_INVALID_ARGUMENT);
    expect_message_names("communicator of work was destroyed");
    expect_result(hocket_work_test(work.get()), HOCKET_OK);
    use(family.turned);
  });
}

// A function of one member's call starts the next one on another member.
TEST_P(SharedLinksWorks, FunctionsStartCallsOnOtherMembers) {
  run_ranks(ranks(), [](Child& child) {
    const SplitOptions sharing{.share_links = true};
    auto parent = Communicator::create();
    auto half = parent.split(child.index % 2, -child.index, sharing);
    auto turned = parent.split(0, -child.index, sharing);
    ASSERT_TRUE(half && turned);
    run_callback_chain(200, [&](int call) -> Communicator& {
      return call % 3 == 0 ? parent : call % 3 == 1 ? *half : *turned;
    });
    turned->barrier();
  });
}

// What is pending on a member that is destroyed ends well, and says so.
TEST_P(SharedLinksWorks, FunctionsComeOnceAfterTheirMemberIsDestroyed) {
  run([](Child& child, Family& family) {
    std::optional<Comm> made;
    made.emplace(split(family.parent, 0, -child.index, Links::shared));
    std::vector<Call> calls;
    std::vector<std::unique_ptr<Told>> told;
    for (std::uint64_t salt = 1; salt <= 30; ++salt) {
      calls.emplace_back(Case{.count = 1000 * salt, .salt = salt}, rank_of(*made), size_of(*made));
      hocket_work* work = nullptr;
      expect_result(calls.back().issue(made->get(), &work), HOCKET_OK);
      told.push_back(std::make_unique<Told>());
      expect_result(hocket_work_on_complete(work, Told::tell, told.back().get()), HOCKET_OK);
      expect_result(hocket_work_release(work), HOCKET_OK);
    }
    made.reset();
    for (const auto& one : told) one->wait_for(1);
    for (const Call& call : calls) call.expect_correct();
    use(family.parent);
    for (const auto& one : told) {
      EXPECT_EQ(one->times, 1);
      EXPECT_EQ(one->result, HOCKET_OK);
    }
  });
}

// Rank 1 aborts one member; what waits on all of them, and its functions, end with that.
TEST_P(SharedLinksWorks, AnAbortCallsTheFunctionsOfAllMembers) {
  const int size = ranks().size;
  ProcessGroup group(ranks(), [](Child& child) {
    Family family(child);
    ASSERT_TRUE(family.twin);
    std::vector<std::unique_ptr<Told>> told;
    Handle kept;
    const hocket_call_options options = persistent();
    expect_result(hocket_barrier(family.turned.get(), &options, kept.out()), HOCKET_OK);
    if (child.index != 1) {
      for (const Comm* comm : {&family.parent, &family.turned, &family.twin}) {
        hocket_work* work = nullptr;
        expect_result(hocket_barrier(comm->get(), nullptr, &work), HOCKET_OK);
        told.push_back(std::make_unique<Told>());
        expect_result(hocket_work_on_complete(work, Told::tell, told.back().get()), HOCKET_OK);
        expect_result(hocket_work_release(work), HOCKET_OK);
      }
    }
    child.say("waits");
    if (child.index == 1) {
      EXPECT_EQ(child.hear(), "abort");
      expect_result(hocket_comm_abort(family.twin.get(), "enough"), HOCKET_OK);
    }
    for (const auto& one : told) {
      one->wait_for(1);
      EXPECT_EQ(one->result, HOCKET_ABORTED);
    }
    expect_result(barrier(family.parent), HOCKET_ABORTED);
    expect_result(hocket_work_start(kept.get()), HOCKET_ABORTED);
    expect_message_names("enough");
    for (const auto& one : told) EXPECT_EQ(one->times, 1);
  });
  for (int index = 0; index < size; ++index) EXPECT_EQ(group.hear(index), "waits");
  group.tell(1, "abort");
  group.expect_success();
}

// Small tensors among large ones: both what travels packed and what goes from where it lies.
const std::vector<std::size_t> sizes = {3, 40001, 1, 0, 35021, 17};

TEST_P(SharedLinksWorks, ListsOnAllMembersAtOnce) {
  run([](Child&, Family& family) {
    std::uint64_t salt = 0;
    for (const bool grouped : {false, true}) {
      std::vector<List> lists;
      std::vector<hocket_work*> works;
      if (grouped) expect_result(hocket_group_start(), HOCKET_OK);
      for (const Comm* comm : family.members()) {
        for (const Collective collective : list_collectives) {
          const Rank size = size_of(*comm);
          lists.emplace_back(Case{.collective = collective, .root = size - 1, .salt = salt += 100}, sizes,
                             rank_of(*comm), size);
          expect_result(lists.back().issue(comm->get(), grouped ? nullptr : &works.emplace_back()), HOCKET_OK);
        }
      }
      if (grouped) expect_result(hocket_group_end(&works.emplace_back()), HOCKET_OK);
      for (hocket_work* work : works) ASSERT_NO_FATAL_FAILURE(wait_and_release(work));
      for (const List& list : lists) list.expect_correct();
    }
  });
}

TEST_P(SharedLinksWorks, ListsArePersistentAndOutliveTheirMember) {
  run([](Child& child, Family& family) {
    const hocket_call_options options = persistent();
    std::optional<Comm> made;
    made.emplace(split(family.half, 0, -child.index, Links::shared));
    const List list({.collective = Collective::allgather, .salt = 7}, sizes, rank_of(*made), size_of(*made));
    const List other({.collective = Collective::allreduce, .salt = 70}, sizes, rank_of(family.turned), child.size);
    Handle first, second;
    expect_result(list.issue(made->get(), first.out(), &options), HOCKET_OK);
    expect_result(other.issue(family.turned.get(), second.out(), &options), HOCKET_OK);
    Told told;
    for (int run = 0; run < 5; ++run) {
      for (const Handle* work : {&first, &second}) expect_result(hocket_work_start(work->get()), HOCKET_OK);
      expect_result(hocket_work_on_complete(first.get(), Told::tell, &told), HOCKET_OK);
      if (run == 4) made.reset();
      for (const Handle* work : {&second, &first}) expect_result(hocket_work_wait(work->get(), 0), HOCKET_OK);
      told.wait_for(run + 1);
      list.expect_correct();
      other.expect_correct();
    }
    use(family.half);
    EXPECT_EQ(told.times, 5);
    EXPECT_EQ(told.result, HOCKET_OK);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, SharedLinksWorks,
                         testing::Combine(testing::Values(3, "00111"), testing::Values("auto", "tcp")));

}  // namespace
}  // namespace hocket::process_testing
