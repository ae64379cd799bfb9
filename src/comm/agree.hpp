// Agreeing: the members of a communicator, whole or broken, agree on a flag and on who is dead, by words over the
// standby links (agreement.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <vector>

#include "src/comm/communicator_parts.hpp"

namespace hocket::comm {

struct AgreeRequest {
  std::uint64_t flag = 0;
  std::chrono::milliseconds timeout{0};  // 0: the communicator's
};
Result<AgreeRequest> agree_request(std::uint64_t flag, const hocket_agree_options& options);

struct Agreed {
  std::uint64_t flag = 0;
  std::vector<Rank> dead = {};  // of the communicator, in ascending order
};

// `broken` says what broke the communicator; ok: nothing. Errors: timeout (names for whom this rank waited), mismatch
// (another member shrinks the communicator), excluded, unsupported, invalid_argument (another call uses the standby),
// aborted (soon after `stop` was requested), out_of_resources. After an error the next call takes part in the same
// agreement.
Result<Agreed> agree(CommunicatorParts& parts, const std::function<Status()>& broken, const AgreeRequest& request,
                     const std::stop_token& stop);

}  // namespace hocket::comm
