// LinkSet: what communicators run on: the executor, the connections, the memory that ranks share. A communicator
// created through a store, or connected anew, has one of its own; children that share their parent's links share its
// link set. These are a family: one order of calls, one end.
#pragma once

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/comm/mesh.hpp"
#include "src/comm/options.hpp"
#include "src/comm/record_file.hpp"
#include "src/comm/record_on_signal.hpp"
#include "src/comm/reporter.hpp"
#include "src/exec/direct/window_use.hpp"
#include "src/exec/executor.hpp"

namespace hocket::comm {

// What leaving may take after a failure.
inline constexpr std::chrono::seconds farewell_after_failure{1};

// Thread rule: any thread for what executor() does; creation and destruction by one.
class LinkSet {
 public:
  struct Config {
    std::uint64_t group = 0;               // see TransportConfig
    const RegionTable* regions = nullptr;  // likewise
    bool says_name = false;                // messages say which communicator broke
    std::string transport = {};            // in place of the options'; empty: those
  };
  // Makes this rank reachable over the transports that the options name; of one rank, there is nobody to reach it. No
  // peer is known yet.
  static Result<std::shared_ptr<LinkSet>> open(const Options& options, const Config& config);
  // Leaves: says goodbye, in ten seconds at most, or ends what is pending with Code::aborted, in one.
  ~LinkSet();
  LinkSet(const LinkSet&) = delete;
  LinkSet& operator=(const LinkSet&) = delete;

  Executor& executor() { return *executor_; }
  Mesh& mesh() { return mesh_; }
  const Mesh& mesh() const { return mesh_; }
  // This rank's number among the peers.
  Rank rank() const { return executor_->rank(); }
  // Breaks it on all ranks, on behalf of one of its communicators. Any thread; returns at once.
  void abort(const Context& context, std::string_view reason);

  // What this rank writes about itself. Any thread.
  RecordFile& records() { return *records_; }
  // Now, to that file; "": to the folder that HOCKET_RECORD_DIR names.
  Status record(const std::string& file) const;

  // Where peers can be reached: one, or all by rank. Before this rank first speaks with them.
  void add_peer(Rank peer, const PeerInfo& info);
  void add_peers(std::span<const PeerInfo> peers);
  // Takes in what has come over links already.
  void look_at_links();
  // See Mesh.
  std::size_t descriptors_to_come();
  // Once all peers are known: closes the doors at which none of them will come.
  void close_unused_doors();
  // Where a transport can show each of these peers, which are on one host, the memory of all, collectives may run over
  // that. All of them call this, once all peers are known, in the order in which they are to be numbered. `setting`:
  // how, but for staging_bytes. Null: no transport can, or this rank is the only one.
  Result<WindowUse*> open_first_window(std::span<const Rank> members, const DirectSetting& setting, Deadline deadline);
  // The same for a child, whose context this is, beside whatever else is under way. All ranks of the child call this,
  // each with those of its host. Another child with the same members uses their window, which stays as long as this.
  // Null also where memory or descriptors for it have run out, on all members. What else fails breaks everything.
  Result<WindowUse*> open_window(const Context& context, std::span<const Rank> members, const DirectSetting& setting,
                                 Deadline deadline);

  // Numbers of communicators: what this rank proposes for a new one, and what all agreed on.
  std::uint32_t propose_number() { return ++latest_number_; }
  void use_number(std::uint32_t agreed);

 private:
  struct SharedWindow {
    std::unique_ptr<Window> window;
    WindowUse use;
  };

  LinkSet(std::unique_ptr<Executor> executor, std::vector<std::unique_ptr<Transport>> transports, Rank size,
          std::shared_ptr<RecordFile> records, std::shared_ptr<GpuWindow> gpu);
  Status record_on_signal();
  void report(const ReportTarget& target, std::uint64_t group);
  void with_exclusive_progress(const std::function<void()>& work);
  Transport* window_transport(std::span<const Rank> members) const;
  WindowUse* find_window(std::span<const Rank> members);
  Result<WindowUse*> keep_window(std::unique_ptr<Window> window, const Transport& transport,
                                 std::span<const Rank> members, const DirectSetting& setting, Deadline deadline);
  void finish_on_gpu();

  const pid_t owner_ = ::getpid();
  const Status destroyed_;  // what pending operations end with at the end; made beforehand, since that needs no memory
  const std::shared_ptr<RecordFile> records_;
  std::unique_ptr<Executor> executor_;
  Mesh mesh_;
  const std::shared_ptr<GpuWindow> gpu_;               // of the first communicator's window
  std::mutex keeping_windows_;                         // held by the thread that progresses, and by those that look
  std::map<std::vector<Rank>, SharedWindow> windows_;  // by members
  std::atomic<std::uint32_t> latest_number_{0};
  std::unique_ptr<RecordOnSignal> record_on_signal_;
  std::unique_ptr<Attendant> reporter_;  // null: it does not report
};

}  // namespace hocket::comm
