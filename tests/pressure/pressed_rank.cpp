#include "tests/pressure/pressed_rank.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <ostream>
#include <thread>
#include <utility>

#include "tests/process/program.hpp"
#include "tests/process/support/failure.hpp"

namespace hocket::pressure_testing {
namespace {

using process_testing::expect_result;
using process_testing::last_cause;

constexpr std::chrono::seconds longest_meeting{20};
constexpr std::int64_t call_deadline_ms = 5000;

std::int64_t next_number(std::int64_t number, Density density) {
  if (density == Density::sparse) return number + 1 + (std::getenv("PRESSURE_ALL") == nullptr ? number / 4 : 0);
  return number + 1 + (number > 64 ? number / 8 : 0);
}

}  // namespace

// ---- Exchange

struct Exchange::Page {
  std::atomic<int> arrived{0};
  std::array<std::atomic<int>, most_ranks> told{};
};

Exchange::Exchange(int ranks) : ranks_(ranks) {
  void* const page = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) throw std::bad_alloc();
  page_ = new (page) Page();
}

Exchange::~Exchange() {
  ::munmap(page_, sizeof(Page));
}

void Exchange::meet() {
  const int place = page_->arrived.fetch_add(1);
  const int all = (place / ranks_ + 1) * ranks_;
  const auto until = std::chrono::steady_clock::now() + longest_meeting;
  while (page_->arrived.load() < all) {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    if (std::chrono::steady_clock::now() < until) continue;
    static constexpr char message[] = "a rank does not come any more\n";
    (void)!::write(STDERR_FILENO, message, sizeof message - 1);
    ::_exit(3);
  }
}

void Exchange::tell(int rank, int value) {
  page_->told[static_cast<std::size_t>(rank)] = value;
  meet();
}

int Exchange::told_by(int rank) const {
  return page_->told[static_cast<std::size_t>(rank)];
}

// ---- Resources

Resources::Resources()
    : descriptors_(process_testing::open_descriptors()),
      threads_(process_testing::running_threads()),
      shared_memory_(process_testing::shared_memory_files()) {}

void Resources::expect_no_more() const {
  EXPECT_LE(process_testing::open_descriptors(), descriptors_) << "descriptors are left";
  EXPECT_LE(process_testing::running_threads(), threads_) << "threads are left";
  EXPECT_EQ(process_testing::shared_memory_files(), shared_memory_) << "mappings are left";
}

// ---- PressedRank

void PrintTo(const Pressure& pressure, std::ostream* out) {
  *out << pressure.transport << "_rank_" << pressure.victim
       << (pressure.shortage == Shortage::of_one ? "_one_fails" : "_all_fail");
}

PressedRank::PressedRank(const process_testing::Child& child, Exchange& exchange, Pressure pressure, std::string folder)
    : rank_(child.index),
      size_(child.size),
      exchange_(exchange),
      pressure_(pressure),
      store_("file://" + std::move(folder) + "/store") {}

PressedRank::~PressedRank() {
  hocket_comm_destroy(comm_);
}

const hocket_comm_options& PressedRank::next_options() {
  job_ = "job" + std::to_string(communicators_++);
  options_.world_size = size_;
  options_.rank = rank_;
  options_.store = store_.c_str();
  options_.name = job_.c_str();
  options_.transport = pressure_.transport;
  options_.timeout_ms = call_deadline_ms;
  return options_;
}

void PressedRank::renew() {
  destroy();
  expect_result(hocket_comm_create(&comm_, &next_options()), HOCKET_OK, "a new communicator");
}

void PressedRank::expect_blame() const {
  const hocket_cause cause = last_cause();
  EXPECT_EQ(cause.code, HOCKET_OUT_OF_RESOURCES) << cause.message;
  if (!is_victim() || cause.rank != -1) {
    EXPECT_EQ(cause.rank, pressure_.victim) << cause.message;
  }
}

void PressedRank::expect_agreement(hocket_result result) {
  if (result != HOCKET_OK) expect_blame();
  exchange_.tell(rank_, result);
  for (int other = 0; other < size_; ++other) {
    EXPECT_EQ(exchange_.told_by(other), static_cast<int>(result)) << "rank " << other << ", but this is " << rank_;
  }
  exchange_.meet();
}

void PressedRank::expect_others_tell(bool value) {
  exchange_.tell(rank_, value ? 1 : 0);
  for (int other = 0; other < size_; ++other) {
    if (is_victim() || other == victim()) continue;
    EXPECT_EQ(exchange_.told_by(other) != 0, value)
        << "rank " << other << ", but this is " << rank_ << ", which heard last: " << hocket_last_error();
  }
  exchange_.meet();
}

void PressedRank::expect_all_tell(bool value) {
  exchange_.tell(rank_, value ? 1 : 0);
  for (int other = 0; other < size_; ++other) {
    EXPECT_EQ(exchange_.told_by(other) != 0, value)
        << "rank " << other << ", but this is " << rank_ << ", which heard last: " << hocket_last_error();
  }
  exchange_.meet();
}

bool PressedRank::anybody_tells(bool value) {
  exchange_.tell(rank_, value ? 1 : 0);
  bool anybody = false;
  for (int other = 0; other < size_; ++other) anybody |= exchange_.told_by(other) != 0;
  exchange_.meet();
  return anybody;
}

void PressedRank::try_allocations(const std::string& name, const std::function<void()>& attempt) {
  for (number_ = 1;; number_ = next_number(number_, pressure_.density)) {
    SCOPED_TRACE(name + ", allocation " + std::to_string(number_));
    attempt();
    exchange_.meet();
    const bool ends = testing::Test::HasFailure() || (is_victim() && !failed_);
    if (anybody_tells(ends)) break;
  }
}

hocket_result PressedRank::destroy() {
  return hocket_comm_destroy(std::exchange(comm_, nullptr));
}

void PressedRank::press(const std::string& name, bool first, const Body& body) {
  try_allocations(name, [&] { attempt(first, body); });
}

void PressedRank::attempt(bool first, const Body& body) {
  if (first || comm_ == nullptr) {
    renew();
    if (!first) expect_result(body(*this), HOCKET_OK, "before memory runs out");
    if (comm_ == nullptr) return;
  }
  const hocket_result result = under_pressure([&] { return body(*this); });
  if (result != HOCKET_OK) expect_result(result, HOCKET_OUT_OF_RESOURCES, "under pressure");
  hocket_result afterwards = hocket_barrier(comm_, nullptr, nullptr);
  if (result != HOCKET_OK) expect_result(afterwards, result, "afterwards");
  // What the victim's progress thread could not get may break the communicator after the call is done: then a rank can
  // be through with the barrier before it hears. It cannot get through another one.
  if (anybody_tells(afterwards != HOCKET_OK) && afterwards == HOCKET_OK) {
    afterwards = hocket_barrier(comm_, nullptr, nullptr);
  }
  expect_agreement(afterwards);
  if (afterwards != HOCKET_OK) destroy();
}

void run_pressed(int ranks, const Pressure& pressure, const std::function<void(PressedRank&)>& body) {
  const TemporaryFolder folder;
  Exchange exchange(ranks);
  process_testing::run_ranks(ranks, [&](process_testing::Child& child) {
    PressedRank rank(child, exchange, pressure, folder.path().string());
    body(rank);
  });
}

}  // namespace hocket::pressure_testing
