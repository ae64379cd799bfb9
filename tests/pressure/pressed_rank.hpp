// A rank of several, of which one, the victim, runs out of memory: at the first allocation of a call, then at the
// second, and so on until the call needs no more.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "hocket/hocket.h"
#include "tests/pressure/failing_memory.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::pressure_testing {

inline constexpr int most_ranks = 4;

// Memory that the ranks share beside the library: what they tell each other about an attempt.
class Exchange {
 public:
  explicit Exchange(int ranks);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Waits until all ranks are here; ends the process where one does not come.
  void meet();
  // What every rank gives; all of them call it.
  void tell(int rank, int value);
  int told_by(int rank) const;

 private:
  struct Page;
  const int ranks_;
  Page* page_;
};

// Which of the allocations fail in turn.
enum class Density : std::uint8_t {
  dense,   // the first 64, then ever fewer
  sparse,  // ever fewer; all of them where PRESSURE_ALL is set
};

// What a test runs under.
struct Pressure {
  const char* transport = "auto";
  int victim = 0;
  Shortage shortage = Shortage::of_one;
  Density density = Density::dense;
};
void PrintTo(const Pressure& pressure, std::ostream* out);

// What a process holds of the system: descriptors, threads, and files mapped into its memory.
class Resources {
 public:
  Resources();
  // What was taken since has been given back.
  void expect_no_more() const;

 private:
  const int descriptors_, threads_;
  const std::set<std::string> shared_memory_;
};

class PressedRank {
 public:
  PressedRank(const process_testing::Child& child, Exchange& exchange, Pressure pressure, std::string folder);
  ~PressedRank();
  PressedRank(const PressedRank&) = delete;
  PressedRank& operator=(const PressedRank&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  int victim() const { return pressure_.victim; }
  bool is_victim() const { return rank_ == victim(); }
  // The communicator, made anew where the last one broke.
  hocket_comm* comm() const { return comm_; }

  // Makes one call of the library. One that memory ran out for is made once more, with memory: it must have done
  // nothing, or have broken the communicator.
  template <class Call>
  hocket_result make(Call call) {
    const hocket_result result = call();
    if (result != HOCKET_OUT_OF_RESOURCES) return result;
    stop_failing();
    return call();
  }

  using Body = std::function<hocket_result(PressedRank&)>;
  // `first`: on a new communicator each time. Otherwise `body` has run before.
  void press(const std::string& name, bool first, const Body& body);

  // Runs `attempt` with the number of each allocation that is to fail, until none fails.
  void try_allocations(const std::string& name, const std::function<void()>& attempt);
  // The part of an attempt in which memory runs out.
  template <class Part>
  hocket_result under_pressure(Part part) {
    exchange_.meet();
    if (is_victim()) fail_allocation(number_, pressure_.shortage);
    const hocket_result result = part();
    failed_ = is_victim() && stop_failing();
    return result;
  }

  // New options of a communicator that these ranks have not made yet; valid until the next.
  const hocket_comm_options& next_options();
  void renew();
  hocket_result destroy();
  // Each rank tells whether what the attempt was about still works, and all must say the same.
  void expect_agreement(hocket_result result);
  // The same for what is so or not.
  void expect_all_tell(bool value);
  // The same, but for the victim.
  void expect_others_tell(bool value);
  // Whether it is so for one of the ranks.
  bool anybody_tells(bool value);
  // Memory ran out at the victim.
  void expect_blame() const;

 private:
  void attempt(bool first, const Body& body);

  const int rank_, size_;
  Exchange& exchange_;
  const Pressure pressure_;
  const std::string store_;
  std::string job_;
  hocket_comm_options options_ = HOCKET_COMM_OPTIONS_INIT;
  int communicators_ = 0;
  hocket_comm* comm_ = nullptr;
  std::int64_t number_ = 0;
  bool failed_ = false;
};

// Runs `body` in ranks of their own.
void run_pressed(int ranks, const Pressure& pressure, const std::function<void(PressedRank&)>& body);

}  // namespace hocket::pressure_testing
