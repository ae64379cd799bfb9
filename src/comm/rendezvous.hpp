// Rendezvous: how the ranks of a group find each other through the store, before they can speak.
//
// Under the job's name, each rank's k-th communicator lives below "<job>/<k>/": "size" (what the first rank said),
// "group" (a random number that names the group on every connection), "peer/<rank>" (what a rank tells about itself)
// and "failed" (why some rank could not join, so that the others need not wait for their deadline).
// "<job>/claim/<rank>" says which process holds a rank and whether it is still joining. What ranks told is removed once
// everyone has read it.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "src/comm/options.hpp"
#include "src/comm/peer_info.hpp"
#include "src/spi/store.hpp"

namespace hocket::comm {

class Rendezvous {
 public:
  // Claims the rank. Errors: rank_taken, mismatch (another world size), those of stores. Waits for other ranks end with
  // aborted when `stop` is requested.
  static Result<std::unique_ptr<Rendezvous>> join(Store& store, const Options& options, Deadline deadline,
                                                  std::stop_token stop = {});

  std::uint64_t group() const { return group_; }
  Status publish(const PeerInfo& info);
  // Waits for what another rank tells. A timeout names all ranks that have not published one.
  Result<PeerInfo> peer_info_of(Rank rank);
  // This rank has all that it needs.
  void finish();
  // Tells the ranks that still wait why this one could not join.
  void fail(const Status& why);

 private:
  Rendezvous(Store& store, const Options& options, Deadline deadline, std::stop_token stop)
      : store_(store), options_(options), deadline_(deadline), stop_(std::move(stop)) {}

  Status claim();
  Status agree_on_size();
  Status agree_on_group();
  Result<std::string> await(const std::string& name);
  std::string missing_ranks() const;
  std::string key(std::string_view name) const;
  std::string claim_key() const;

  Store& store_;
  const Options options_;
  const Deadline deadline_;
  const std::stop_token stop_;
  std::uint64_t instance_ = 0;
  std::uint64_t group_ = 0;
};

// Equal for all ranks that run on one host: HOCKET_HOST_ID, else the boot id with the host's name.
std::string host_identity();

}  // namespace hocket::comm
