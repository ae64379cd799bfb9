// Record files: what a rank writes for people, and for hocket-doctor, when something breaks, on a signal, or on
// request.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/comm/options.hpp"
#include "src/comm/peer_info.hpp"
#include "src/comm/record_text.hpp"
#include "src/exec/recording.hpp"

namespace hocket::comm {

// When ranks write, as HOCKET_RECORD_DIR and its like say.
struct RecordSettings {
  std::string folder;         // empty: only on request
  std::optional<int> signal;  // that makes a rank write
  bool at_end = false;        // also when a communicator ends well
  std::size_t steps = 0;      // so many of the latest are recorded
  bool reports = false;       // ranks tell the store what they do

  // Makes the folder where there is none. Code::invalid_environment names the variable.
  static Result<RecordSettings> from_environment();
};

// Writes the records of one link set. Thread rule: any thread.
class RecordFile {
 public:
  // `options`: of the link set's first communicator. `group`: of its ranks.
  RecordFile(const Options& options, std::uint64_t group, RecordSettings settings);

  const RecordSettings& settings() const { return settings_; }
  // Once they are known: where the other ranks run.
  void set_peers(const std::vector<PeerInfo>& peers);
  // Into the folder, where one is named. Where it fails, the log says so, too.
  Status write(const Recording& recording, RecordReason reason) const;
  // For whoever asks through a store: the record without its steps, and with as many operations as have room there.
  std::string text_for_store(Recording recording) const;
  // What it does now, for the store.
  std::string report(const std::string& job, const Recording& recording) const;
  // The file appears complete or not at all. Code::invalid_argument names the file and what the system said.
  Status write_to(const std::string& file, const Recording& recording, RecordReason reason) const;

 private:
  RecordOwner owner() const;

  const RecordSettings settings_;
  const std::string name_;
  const Rank rank_, size_;
  const std::uint64_t group_;
  mutable std::mutex mutex_;
  std::vector<std::string> processes_;  // guarded by mutex_: by rank, ProcessIdentity::serialise()
};

}  // namespace hocket::comm
