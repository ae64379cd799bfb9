// What ranks have written about themselves (docs/reference/hocket-doctor.md), as hocket-doctor reads it: its texts are
// printable, its ranks and times within bounds, whoever has written it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/spi/status.hpp"

namespace hocket::doctor {

// A call of one rank. Times are nanoseconds of the clock of the rank's host.
struct Call {
  std::uint32_t communicator = 0;
  std::uint32_t number = 0;  // messages: counted for each peer and direction
  std::string kind, collective, text, algorithm, type;
  Rank peer = no_rank;  // of a message: the other end
  std::uint64_t count = 0, bytes = 0;
  std::int64_t began = 0;
  std::optional<std::int64_t> ended = {};
  bool exact = true;  // else a message that was over at once, some time from `began` to `ended`

  bool is_message() const { return kind == "send" || kind == "receive"; }
};

// A step of a call's schedule.
struct Step {
  std::uint32_t communicator = 0;
  std::uint32_t number = 0;  // of the call
  std::string call, kind;    // kinds of the call and of the step
  Rank peer = no_rank;       // of a message: the other end
  std::uint64_t bytes = 0;
  std::int64_t began = 0;
  std::optional<std::int64_t> ended = {};

  bool sends() const { return kind == "send"; }
  bool receives() const { return kind == "recv" || kind == "recv_reduce"; }
};

// A call that waits.
struct Wait {
  Call call;
  bool begun = false;
  double seconds = 0;
  std::vector<Rank> awaited = {};
  std::string text = {};
};

struct RecordedCause {
  std::string code, message, operation;
  Rank rank = no_rank, peer = no_rank;
};

struct Communicator {
  std::string name;
  std::vector<Rank> ranks;  // empty: all
  std::int64_t calls = 0;   // collectives that were called
};

struct Record {
  std::string file, name, group, reason;
  Rank rank = 0, size = 0;
  std::vector<std::string> processes;  // by rank
  std::string kernel;                  // ranks of one kernel have one steady clock
  std::int64_t steady = 0, date = 0;   // when it was written, by both clocks
  std::optional<RecordedCause> cause = {};
  std::map<std::uint32_t, Communicator> communicators = {};
  std::vector<Call> calls = {};
  std::vector<Step> steps = {};  // where they were recorded
  std::vector<Wait> waits = {};

  // The call of this number on a communicator, if it is recorded; a collective.
  const Call* collective(std::uint32_t communicator, std::uint32_t number) const;
};

// The records of ranks that ran on the same links.
struct Group {
  std::string name, id;
  Rank size = 0;
  std::map<Rank, Record> records = {};

  const Record* of(Rank rank) const;
  std::vector<Rank> without_record() const;
};

// Records by their groups, the earliest first.
class Groups {
 public:
  // The text of a record, or of something else; `from` names it. Returns what is wrong with a record that cannot be
  // read, else "".
  std::string add(const std::string& text, const std::string& from);
  std::vector<Group> sorted() &&;

 private:
  std::map<std::string, Group> groups_;
};

// Code::not_found where the folder holds no records. `unreadable`: files that are none, and why.
Result<std::vector<Group>> read_folder(const std::string& folder, std::vector<std::string>& unreadable);

}  // namespace hocket::doctor
