// The C API's agreements.
#include <algorithm>
#include <memory>
#include <stop_token>

#include "src/base/sized_struct.hpp"
#include "src/capi/background_handle.hpp"
#include "src/comm/agree.hpp"

using namespace hocket::capi;  // the functions of the API stand outside all namespaces
using hocket::Code;
using hocket::Status;
using hocket::comm::Agreed;

using Agreeing = hocket::comm::Background<Agreed>;

struct hocket_agreement : BackgroundHandle<Agreed> {};

namespace {

hocket::Result<hocket::comm::AgreeRequest> request_of(uint64_t flag, const hocket_agree_options* options) {
  const auto given = hocket::read_sized(options);
  if (given) return hocket::comm::agree_request(flag, *given);
  return Status(Code::invalid_argument, "options.struct_size is wrong: begin with HOCKET_AGREE_OPTIONS_INIT");
}

Status check_places(const uint64_t* flag, const int32_t* dead, const int32_t* dead_count) {
  if (flag == nullptr) return null_argument("flag");
  if (dead != nullptr && dead_count == nullptr) return null_argument("dead_count");
  return {};
}

void write(const Agreed& agreed, uint64_t* flag, int32_t* dead, int32_t* dead_count) {
  *flag = agreed.flag;
  if (dead != nullptr) std::ranges::copy(agreed.dead, dead);
  if (dead_count != nullptr) *dead_count = static_cast<int32_t>(agreed.dead.size());
}

}  // namespace

extern "C" {

hocket_result hocket_comm_agree(hocket_comm* comm, uint64_t* flag, int32_t* dead, int32_t* dead_count,
                                const hocket_agree_options* options) {
  return guarded([&]() -> Status {
    if (comm == nullptr) return null_argument("comm");
    if (Status places = check_places(flag, dead, dead_count); !places.ok()) return places;
    if (!may_wait()) return wait_refused();
    const auto request = request_of(*flag, options);
    if (!request.ok()) return request.status();
    const auto agreed = comm->communicator->agree(*request);
    if (agreed.ok()) write(*agreed, flag, dead, dead_count);
    return agreed.status();
  });
}

hocket_result hocket_comm_agree_start(hocket_comm* comm, uint64_t flag, hocket_agreement** agreement,
                                      const hocket_agree_options* options) {
  return guarded([&]() -> Status {
    if (agreement == nullptr) return null_argument("agreement");
    *agreement = nullptr;
    if (comm == nullptr) return null_argument("comm");
    const auto request = request_of(flag, options);
    if (!request.ok()) return request.status();
    auto handle = std::make_unique<hocket_agreement>();
    auto started =
        Agreeing::start("agree", [&communicator = *comm->communicator, given = *request](const std::stop_token& stop) {
          return communicator.agree(given, stop);
        });
    if (!started.ok()) return started.status();
    handle->background = std::move(*started);
    *agreement = handle.release();
    return {};
  });
}

hocket_result hocket_agreement_test(hocket_agreement* agreement) {
  return test_background(agreement, "agreement");
}

hocket_result hocket_agreement_wait(hocket_agreement* agreement, int64_t timeout_ms, uint64_t* flag, int32_t* dead,
                                    int32_t* dead_count) {
  return guarded([&]() -> Status {
    if (Status places = check_places(flag, dead, dead_count); !places.ok()) return places;
    if (Status status = wait_for_background(agreement, "agreement", timeout_ms); !status.ok()) return status;
    write(agreement->background->value(), flag, dead, dead_count);
    return {};
  });
}

hocket_result hocket_agreement_destroy(hocket_agreement* agreement) {
  return destroy_background(agreement);
}

}  // extern "C"
