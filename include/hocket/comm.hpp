/// @file
/// Communicators in C++.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hocket/agree.h"
#include "hocket/collectives.hpp"
#include "hocket/collectives_v.hpp"
#include "hocket/comm.h"
#include "hocket/errors.hpp"
#include "hocket/join.h"
#include "hocket/messages.hpp"
#include "hocket/shrink.h"
#include "hocket/split.h"

namespace hocket {
inline namespace api {

/// How to create a communicator, see ::hocket_comm_options. Zero and empty fields are taken from the environment.
struct Options {
  int world_size = 0;                      ///< The number of ranks.
  int rank = 0;                            ///< 0 … world_size-1; read only if world_size is given.
  std::string store = {};                  ///< Where ranks meet: "tcp://host:port" or "file:///path".
  std::chrono::milliseconds timeout{0};    ///< The deadline of creation, and of every call that names none.
  std::string name = {};                   ///< Separates jobs that share a store.
  std::string transport = {};              ///< "auto", or a name that `hocket-plan settings` lists.
  std::string algorithm = {};              ///< "auto", or names of algorithms.
  std::optional<bool> deterministic = {};  ///< Whether bits depend only on the inputs and the number of ranks.
  const hocket_store_callbacks* store_callbacks = nullptr;  ///< A store of the caller's, in place of `store`.
  std::string secret = {};  ///< That both sides of every connection prove to know; equal on all ranks.
};

/// How to make a communicator from another, see ::hocket_split_options. Zero and empty fields follow the parent.
struct SplitOptions {
  std::chrono::milliseconds timeout{0};  ///< The deadline of the split, and of the child's calls that name none.
  std::string name = {};                 ///< The child's name in messages.
  bool share_links = false;              ///< Whether the child runs on its parent's links.
};

/// What ranks have agreed on, see hocket_comm_agree().
struct Agreed {
  std::uint64_t flag = 0;               ///< The AND of the flags of all ranks but the dead.
  std::vector<std::int32_t> dead = {};  ///< In ascending order.
};

/// How to shrink a communicator, see ::hocket_shrink_options. Zero and empty fields have their defaults.
struct ShrinkOptions {
  std::chrono::milliseconds timeout{0};   ///< The deadline.
  std::chrono::milliseconds patience{0};  ///< How long to wait for ranks that may be alive.
  bool minority = false;                  ///< Whether to go on without these by less than a majority.
  std::string name = {};                  ///< The new communicator's name in messages.
};

/// Where and for whom to wait, see ::hocket_join_options. An empty field has its default.
struct JoinOptions {
  std::chrono::milliseconds timeout{0};  ///< For newcomers to come, or to be taken in; zero: that of the options.
  int newcomers_min = 1;                 ///< Members: how many to wait for.
  int newcomers_max = 0;                 ///< Members: how many to take in at most; 0: newcomers_min.
  std::string point = {};                ///< The name of the joining point; empty: as the environment says.
};

namespace detail {

inline const char* or_null(const std::string& text) {
  return text.empty() ? nullptr : text.c_str();
}

// The result points into `options`.
inline hocket_comm_options to_c(const Options& options) {
  hocket_comm_options given = HOCKET_COMM_OPTIONS_INIT;
  given.world_size = options.world_size;
  given.rank = options.rank;
  given.store = or_null(options.store);
  given.timeout_ms = options.timeout.count();
  given.name = or_null(options.name);
  given.transport = or_null(options.transport);
  given.algorithm = or_null(options.algorithm);
  given.deterministic = options.deterministic ? (*options.deterministic ? 1 : -1) : 0;
  given.store_callbacks = options.store_callbacks;
  given.secret = or_null(options.secret);
  return given;
}

// The result points into `options`.
inline hocket_split_options to_c(const SplitOptions& options) {
  hocket_split_options given = HOCKET_SPLIT_OPTIONS_INIT;
  given.timeout_ms = options.timeout.count();
  given.name = or_null(options.name);
  given.share_links = options.share_links ? 1 : 0;
  return given;
}

// The result points into `options`.
inline hocket_shrink_options to_c(const ShrinkOptions& options) {
  hocket_shrink_options given = HOCKET_SHRINK_OPTIONS_INIT;
  given.timeout_ms = options.timeout.count();
  given.patience_ms = options.patience.count();
  given.minority = options.minority ? 1 : 0;
  given.name = or_null(options.name);
  return given;
}

// The result points into `options`.
inline hocket_join_options to_c(const JoinOptions& options) {
  hocket_join_options given = HOCKET_JOIN_OPTIONS_INIT;
  given.timeout_ms = options.timeout.count();
  given.newcomers_min = options.newcomers_min;
  given.newcomers_max = options.newcomers_max;
  given.point = or_null(options.point);
  return given;
}

}  // namespace detail

/// One rank's membership in a group of ranks. The destructor leaves the group, see hocket_comm_destroy().
class Communicator : public CollectiveCalls<Communicator>,
                     public UnequalCalls<Communicator>,
                     public MessageCalls<Communicator> {
 public:
  /// Joins the group; every rank calls it.
  static Communicator create(const Options& options = {}) {
    const hocket_comm_options given = detail::to_c(options);
    hocket_comm* handle = nullptr;
    check(hocket_comm_create(&handle, &given));
    return Communicator(handle);
  }
  /// All ranks of one group, for threads of this process; element i is rank i.
  static std::vector<Communicator> create_local(int world_size, const Options& options = {}) {
    const hocket_comm_options given = detail::to_c(options);
    std::vector<hocket_comm*> handles(world_size > 0 ? static_cast<std::size_t>(world_size) : 1, nullptr);
    check(hocket_comm_create_local(handles.data(), world_size, &given));
    std::vector<Communicator> made;
    made.reserve(handles.size());
    for (hocket_comm* handle : handles) made.push_back(Communicator(handle));
    return made;
  }

  /// Collective over this communicator: makes one child for each color, of the ranks that give it, in the order of
  /// their keys. Returns nothing if `color` is #HOCKET_NO_COLOR.
  std::optional<Communicator> split(int color, int key, const SplitOptions& options = {}) {
    const hocket_split_options given = detail::to_c(options);
    hocket_comm* child = nullptr;
    check(hocket_comm_split(handle_, color, key, &child, &given));
    return from(child);
  }
  /// Collective over this communicator: makes a child with the same ranks.
  Communicator duplicate(const SplitOptions& options = {}) {
    const hocket_split_options given = detail::to_c(options);
    hocket_comm* child = nullptr;
    check(hocket_comm_duplicate(handle_, &child, &given));
    return Communicator(child);
  }
  /// Collective over this communicator: makes a child whose rank i is this communicator's rank ranks[i]. Returns
  /// nothing on the ranks that are not in the list.
  std::optional<Communicator> subset(std::span<const std::int32_t> ranks, const SplitOptions& options = {}) {
    const hocket_split_options given = detail::to_c(options);
    hocket_comm* child = nullptr;
    const auto count = static_cast<std::int32_t>(ranks.size());
    check(hocket_comm_subset(handle_, ranks.data(), count, &child, &given));
    return from(child);
  }

  /// Agrees with the other ranks, although some may die, on a flag and on who is dead, see hocket_comm_agree().
  /// `timeout` zero: the communicator's.
  Agreed agree(std::uint64_t flag, std::chrono::milliseconds timeout = {}) {
    const hocket_agree_options options{sizeof(hocket_agree_options), timeout.count()};
    Agreed agreed{flag, std::vector<std::int32_t>(static_cast<std::size_t>(size_))};
    std::int32_t count = 0;
    check(hocket_comm_agree(handle_, &agreed.flag, agreed.dead.data(), &count, &options));
    agreed.dead.resize(static_cast<std::size_t>(count));
    return agreed;
  }
  /// Makes a communicator of the ranks that are still there; each of them calls it once this one is broken, see
  /// ::hocket_comm_shrink().
  Communicator shrink(const ShrinkOptions& options = {}) {
    const hocket_shrink_options given = detail::to_c(options);
    hocket_comm* shrunk = nullptr;
    check(hocket_comm_shrink(handle_, &shrunk, &given));
    return Communicator(shrunk);
  }
  /// Takes newcomers in and makes a larger communicator, see ::hocket_comm_join(); collective over this one. Returns
  /// nothing if nobody had to come, and nobody is there.
  std::optional<Communicator> take_in(const JoinOptions& join = {}, const Options& options = {}) {
    return join_as(handle_, join, options);
  }
  /// The same for a newcomer.
  static Communicator come_in(const JoinOptions& join = {}, const Options& options = {}) {
    return join_as(nullptr, join, options).value();
  }
  /// Which rank of the communicator that this one was shrunk from, or joined by newcomers, has become `rank`; -1: none.
  int previous_rank(int rank) const {
    std::int32_t previous = 0;
    check(hocket_comm_previous_rank(handle_, rank, &previous));
    return previous;
  }

  /// Takes the membership of `other`, which then has none.
  Communicator(Communicator&& other) noexcept { *this = std::move(other); }
  /// Leaves its own group, then takes the membership of `other`.
  Communicator& operator=(Communicator&& other) noexcept {
    if (this != &other) {
      hocket_comm_destroy(handle_);
      handle_ = std::exchange(other.handle_, nullptr);
      rank_ = other.rank_;
      size_ = other.size_;
    }
    return *this;
  }
  ~Communicator() { hocket_comm_destroy(handle_); }

  /// This process's rank, 0 … size()-1.
  int rank() const noexcept { return rank_; }
  /// The number of ranks.
  int size() const noexcept { return size_; }
  /// The handle for the C API, which still belongs to this object.
  hocket_comm* handle() const noexcept { return handle_; }
  /// Breaks the communicator on all ranks, from any thread.
  void abort(const std::string& reason = {}) { check(hocket_comm_abort(handle_, reason.c_str())); }
  /// Throws what broke the communicator, if something did.
  void require_working() { check(hocket_comm_status(handle_)); }
  /// As hocket_comm_record(); null: into the folder that HOCKET_RECORD_DIR names.
  void record(const char* path = nullptr) { check(hocket_comm_record(handle_, path)); }
  /// What the communicator has done so far on this rank.
  hocket_counters counters() {
    hocket_counters counters = HOCKET_COUNTERS_INIT;
    check(hocket_comm_counters(handle_, &counters));
    return counters;
  }
  /// What it has exchanged with one of its ranks so far.
  hocket_peer_counters peer_counters(int rank) {
    hocket_peer_counters counters = HOCKET_PEER_COUNTERS_INIT;
    check(hocket_comm_peer_counters(handle_, rank, &counters));
    return counters;
  }

 private:
  friend class Creation;  // which is handed finished communicators

  explicit Communicator(hocket_comm* handle) : handle_(handle) {
    hocket_comm_rank(handle_, &rank_);
    hocket_comm_size(handle_, &size_);
  }
  static std::optional<Communicator> join_as(hocket_comm* member, const JoinOptions& join, const Options& options) {
    const hocket_join_options given = detail::to_c(join);
    const hocket_comm_options given_options = detail::to_c(options);
    hocket_comm* joined = nullptr;
    check(hocket_comm_join(member, &joined, &given, &given_options));
    return from(joined);
  }
  static std::optional<Communicator> from(hocket_comm* handle) {
    if (handle == nullptr) return std::nullopt;
    return Communicator(handle);
  }

  hocket_comm* handle_ = nullptr;
  std::int32_t rank_ = 0;
  std::int32_t size_ = 0;
};

}  // namespace api
}  // namespace hocket
