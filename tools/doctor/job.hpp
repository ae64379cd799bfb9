// The records of a job that runs, asked for through its store.
#pragma once

#include <string>
#include <vector>

#include "src/spi/store.hpp"
#include "tools/doctor/record.hpp"

namespace hocket::doctor {

// The store that the option names, or else HOCKET_STORE, or MASTER_ADDR and MASTER_PORT; with the secret that the
// environment has. Errors: those of stores; invalid_environment where nothing names one.
Result<std::unique_ptr<Store>> open_job_store(const std::string& url);

// Asks all ranks of the job that report (HOCKET_REPORT), and waits for each answer as long as `patience`. A rank that
// has reported and does not answer has no record. Code::not_found where none reports.
Result<std::vector<Group>> read_job(Store& store, const std::string& job, std::chrono::milliseconds patience,
                                    std::vector<std::string>& unreadable);

}  // namespace hocket::doctor
